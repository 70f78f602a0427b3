/* params_test.c - settings: defaults, values, and what is said of wrong ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"
#include "tutti/graph.h"

static json_doc *parse(const char *text)
{
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(json_parse("run.json", text, strlen(text), &doc, &err), err);
    return doc;
}

START_TEST(defaults_are_complete)
{
    faults *f = faults_create();
    registry *r = registry_over(FIXTURES "/good");
    tutti_params *p = params_from_json(find(r, "callback", "good"), NULL, NULL, "/run", f);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->count, 8);
    ck_assert_int_eq(tutti_param_i64(p, "flag"), 1);
    ck_assert_int_eq(tutti_param_i64(p, "count"), 3);
    ck_assert_double_eq(tutti_param_f64(p, "count"), 3.0);
    ck_assert_double_eq(tutti_param_f64(p, "rate"), 0.5);
    ck_assert(!tutti_param_is_set(p, "text"));
    ck_assert_str_eq(tutti_param_str(p, "mode"), "slow");
    ck_assert_int_eq(tutti_param_time(p, "every").unit, TUTTI_UNIT_BATCH);
    ck_assert_int_eq(tutti_param_time(p, "every").count, 10);
    ck_assert_str_eq(tutti_param_str(p, "folder"), "/run/out");
    const tutti_param *sizes = tutti_param_find(p, "sizes");
    ck_assert_uint_eq(sizes->count, 2);
    ck_assert_int_eq(sizes->items[1]->i, 2);
    ck_assert_ptr_null(sizes->items[1]->name);
    params_free(p);
    params_free(NULL);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

START_TEST(given_values_are_taken_and_written)
{
    static const char *const skip[] = {"groups", NULL};
    faults *f = faults_create();
    registry *r = registry_over(FIXTURES "/good");
    json_doc *doc =
        parse("{\"name\": \"good\", \"id\": \"mine\", \"groups\": [], \"flag\": false, "
              "\"count\": 9, \"rate\": 0.25, \"text\": \"a\\\"b\", \"mode\": \"fast\", "
              "\"every\": \"2EP\", \"folder\": \"/abs\", \"sizes\": [0]}");
    tutti_params *p =
        params_from_json(find(r, "callback", "good"), json_root(doc), skip, "/run", f);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(tutti_param_find(p, "mode")->i, 1);
    char *text = params_text(p);
    ck_assert_str_eq(text,
                     "{\"flag\":false,\"count\":9,\"rate\":0.25,\"text\":\"a\\\"b\",\"mode\":"
                     "\"fast\",\"every\":\"2EP\",\"folder\":\"/abs\",\"sizes\":[0]}");
    free(text);
    params_free(p);
    json_free(doc);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

static const struct {
    const char *object, *given, *sentence;
} bad[] = {
    {"good", "{\"flag\": 1}", "run.json:1: flag: is 1, want true or false"},
    {"good", "{\"count\": 2.0}",
     "run.json:1: count: is 2.0, want an integer of at least 1 and of at most 9"},
    {"good", "{\"count\": 10}",
     "run.json:1: count: is 10, want an integer of at least 1 and of at most 9"},
    {"good", "{\"rate\": 1}",
     "run.json:1: rate: is 1, want a number above 0 and below 1 (per step)"},
    {"good", "{\n\"rate\": \"0.5\"}",
     "run.json:2: rate: is \"0.5\", want a number above 0 and below 1 (per step)"},
    {"good", "{\"rate\": null}",
     "run.json:1: rate: is null, want a number above 0 and below 1 (per step)"},
    {"good", "{\"text\": \"sixsix\"}",
     "run.json:1: text: is \"sixsix\", want a string of at most 5 bytes, or null"},
    {"good", "{\"mode\": \"fats\"}",
     "run.json:1: mode: is \"fats\", want \"slow\" or \"fast\"; did you mean fast?"},
    {"good", "{\"every\": \"3sp\"}",
     "run.json:1: every: is \"3sp\", want a time in ba or ep such as \"10ep\""},
    {"good", "{\"every\": \"3\"}",
     "run.json:1: every: is \"3\", want a time in ba or ep such as \"10ep\""},
    {"good", "{\"every\": 3}",
     "run.json:1: every: is 3, want a time in ba or ep such as \"10ep\""},
    {"good", "{\"folder\": \"\"}", "run.json:1: folder: is \"\", want a path as a string"},
    {"good", "{\"sizes\": []}",
     "run.json:1: sizes: is [], want a list of 1 to 3 items, each an integer of at least 0, or "
     "a "
     "number that stands for 3"},
    {"good", "{\"sizes\": -2}", "run.json:1: sizes: is -2, want an integer of at least 0"},
    {"good", "{\"sizes\": 1.5}", "run.json:1: sizes: is 1.5, want an integer of at least 0"},
    {"good", "{\"sizes\": \"1\"}",
     "run.json:1: sizes: is \"1\", want a list of 1 to 3 items, each an integer of at least 0, "
     "or a number that stands for 3"},
    {"good", "{\"sizes\": [1, -2]}",
     "run.json:1: sizes[1]: is -2, want an integer of at least 0"},
    {"good", "{\"size\": [1]}",
     "run.json:1: size: good has no such setting; did you mean sizes?"},
    {"strict", "{\"must\": 1, \"zzz\": 2}",
     "run.json:1: zzz: strict has no such setting; it has must"},
    {"strict", "{}", "run.json:1: must is missing: strict requires a number of at least 0"},
    {"strict", "[]", "run.json:1: is an array, want an object of settings for strict"},
};

START_TEST(a_wrong_setting_says_what_was_wanted)
{
    faults *f = faults_create();
    registry *r = registry_over(FIXTURES "/good");
    json_doc *doc = parse(bad[_i].given);
    ck_assert_ptr_null(
        params_from_json(find(r, "callback", bad[_i].object), json_root(doc), NULL, "/run", f));
    ck_assert_uint_eq(faults_count(f), 1);
    ck_assert_str_eq(faults_text(f, 0), bad[_i].sentence);
    json_free(doc);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

START_TEST(everything_wrong_is_said_at_once)
{
    faults *f = faults_create();
    registry *r = registry_over(FIXTURES "/good");
    json_doc *doc =
        parse("{\"flag\": 1, \"count\": 0, \"sizes\": [-1, \"x\"], \"nothing\": 1}");
    ck_assert_ptr_null(
        params_from_json(find(r, "callback", "good"), json_root(doc), NULL, "/run", f));
    ck_assert_uint_eq(faults_count(f), 5);
    json_free(doc);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

START_TEST(attributes_become_settings)
{
    static const int64_t sizes[] = {4, 5, 6};
    const tutti_attr attrs[] = {tutti_attr_i("flag", 0), tutti_attr_i("mode", 1),
                                tutti_attr_f("rate", 0.75), tutti_attr_list("sizes", sizes, 3)};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_params *p = NULL;
    registry *r = registry_over(FIXTURES "/good");
    ck_assert_ok(params_from_attrs(find(r, "callback", "good"), attrs, 4, &p, &err), err);
    char *text = params_text(p);
    ck_assert_str_eq(text, "{\"flag\":false,\"count\":3,\"rate\":0.75,\"text\":null,\"mode\":"
                           "\"fast\",\"every\":\"10ba\",\"folder\":\"out\",\"sizes\":[4,5,6]}");
    free(text);
    params_free(p);
    registry_destroy(r);
}
END_TEST

START_TEST(a_number_stands_for_a_list_of_it)
{
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    tutti_params *p = NULL;
    registry *r = registry_over(FIXTURES "/good");
    const object *o = find(r, "callback", "good");
    json_doc *doc = parse("{\"sizes\": 7}");
    for (int from_attrs = 0; from_attrs < 2; from_attrs++) {
        const tutti_attr attr = tutti_attr_i("sizes", 7);
        if (from_attrs)
            ck_assert_ok(params_from_attrs(o, &attr, 1, &p, &err), err);
        else
            p = params_from_json(o, json_root(doc), NULL, "/run", f);
        ck_assert_ptr_nonnull(p);
        char *text = params_text(p);
        ck_assert_ptr_nonnull(strstr(text, "\"sizes\":[7,7,7]"));
        free(text);
        params_free(p);
    }
    json_free(doc);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

START_TEST(texts_become_settings_of_every_type)
{
    const tutti_attr attrs[] = {
        tutti_attr_text("text", "[ab]"), tutti_attr_text("mode", "fast"),
        tutti_attr_text("every", "3ep"), tutti_attr_text("folder", "/x"),
        tutti_attr_text("sizes", "[7, 8]")};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_params *p = NULL;
    registry *r = registry_over(FIXTURES "/good");
    const object *o = find(r, "callback", "good");
    ck_assert_ok(params_from_attrs(o, attrs, 5, &p, &err), err);
    char *text = params_text(p);
    ck_assert_str_eq(text, "{\"flag\":true,\"count\":3,\"rate\":0.5,\"text\":\"[ab]\",\"mode\":"
                           "\"fast\",\"every\":\"3ep\",\"folder\":\"/x\",\"sizes\":[7,8]}");
    free(text);
    params_free(p);
    const tutti_attr wrong = tutti_attr_text("sizes", "7, 8");
    ck_assert_int_eq(params_from_attrs(o, &wrong, 1, &p, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "good: sizes: is \"7, 8\", want a list of 1 to 3 items, each an "
                               "integer of at least 0, or a "
                               "number that stands for 3");
    registry_destroy(r);
}
END_TEST

START_TEST(a_wrong_attribute_says_what_was_wanted)
{
    static const struct {
        const char *object;
        tutti_attr attr;
        const char *sentence;
    } cases[] = {
        {"good",
         {"flag", TUTTI_ATTR_I64, 0, 2, 0.0, NULL, NULL},
         "good: flag: is 2, want true or false"},
        {"good",
         {"mode", TUTTI_ATTR_I64, 0, 2, 0.0, NULL, NULL},
         "good: mode: is 2, want \"slow\" or \"fast\""},
        {"good",
         {"counts", TUTTI_ATTR_I64, 0, 2, 0.0, NULL, NULL},
         "good: counts: good has no such setting; did you mean count?"},
        {"strict",
         {"must", TUTTI_ATTR_F64, 0, 0, -0.5, NULL, NULL},
         "strict: must: is -0.5, want a number of at least 0"},
    };
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_params *p = NULL;
    registry *r = registry_over(FIXTURES "/good");
    ck_assert_int_eq(
        params_from_attrs(find(r, "callback", cases[_i].object), &cases[_i].attr, 1, &p, &err),
        TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, cases[_i].sentence);
    ck_assert_ptr_null(p);
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("params");
    TCase *t = tcase_create("params");
    tcase_add_test(t, defaults_are_complete);
    tcase_add_test(t, given_values_are_taken_and_written);
    tcase_add_loop_test(t, a_wrong_setting_says_what_was_wanted, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, everything_wrong_is_said_at_once);
    tcase_add_test(t, attributes_become_settings);
    tcase_add_test(t, a_number_stands_for_a_list_of_it);
    tcase_add_test(t, texts_become_settings_of_every_type);
    tcase_add_loop_test(t, a_wrong_attribute_says_what_was_wanted, 0, 4);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
