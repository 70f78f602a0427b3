/* json_members_test.c - tables of members: what is stored, and the sentences about what is wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_members.h"
#include "tutti_check.h"

#include "tutti/time.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct target {
    bool flag;
    int32_t tri; /* a flag as an integer; -1: not said, or "auto" */
    uint32_t workers;
    int64_t size;
    double rate;
    const char *label;
    const char *type;
    int mode;
    tutti_time every;
    const char *version;
    const json_node *bound, *tags, *free;
} target;

static const char *const autos[] = {"auto", NULL};
static const char *const types[] = {"fp32", "amp_bf16", NULL};
static const char *const modes[] = {"stop", "warn", "ignore", NULL};

static bool has_dot(const char *text)
{
    return strchr(text, '.') != NULL;
}

static const json_member rows[] = {
    {.name = "flag", .type = MEMBER_BOOL, MEMBER_AT(target, flag)},
    {.name = "tri", .type = MEMBER_BOOL, .words = autos, MEMBER_AT(target, tri)},
    {.name = "workers",
     .type = MEMBER_INT,
     .min = 1,
     .max = UINT32_MAX,
     MEMBER_AT(target, workers)},
    {.name = "size",
     .type = MEMBER_INT,
     .flags = MEMBER_NULLABLE,
     .max = INT64_MAX,
     .words = autos,
     MEMBER_AT(target, size)},
    {.name = "rate",
     .type = MEMBER_REAL,
     .flags = MEMBER_ABOVE,
     .max = 2,
     MEMBER_AT(target, rate)},
    {.name = "label", .type = MEMBER_STRING, MEMBER_AT(target, label)},
    {.name = "type", .type = MEMBER_WORD, .words = types, MEMBER_AT(target, type)},
    {.name = "mode", .type = MEMBER_CHOICE, .words = modes, MEMBER_AT(target, mode)},
    {.name = "every", .type = MEMBER_TIME, MEMBER_AT(target, every)},
    {.name = "version",
     .type = MEMBER_STRING,
     .fits = has_dot,
     .want = "a version such as \"1.0\"",
     MEMBER_AT(target, version)},
    {.name = "bound", .type = MEMBER_NUMBER, MEMBER_AT(target, bound)},
    {.name = "tags", .type = MEMBER_WORDS, MEMBER_AT(target, tags)},
    {.name = "free", MEMBER_AT(target, free)},
    {.name = "dataset", .flags = MEMBER_REQUIRED, .want = "the name of a dataset"},
    {.name = NULL},
};

static const target defaults = {.flag = true,
                                .tri = -1,
                                .workers = 2,
                                .size = 7,
                                .rate = 0.5,
                                .label = "eval",
                                .type = "fp32",
                                .mode = 1,
                                .every = {1, 0.0, TUTTI_UNIT_BATCH, 0}};

/* Reads `text` over the defaults; the faults are joined by line ends into `told`. */
static target read(const char *text, char *told, size_t size)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    faults *f = faults_create();
    target t = defaults;
    told[0] = '\0';
    ck_assert_ok(json_parse("run", text, strlen(text), &doc, &err), err);
    (void)json_object_read(json_root(doc), "an object with a dataset", rows, &t, f);
    for (size_t k = 0; k < faults_count(f); k++)
        (void)snprintf(told + strlen(told), size - strlen(told), "%s%s", k ? "\n" : "",
                       faults_text(f, k));
    faults_destroy(f);
    if (*told) {
        ck_assert_int_eq(t.flag, defaults.flag); /* what is faulty leaves the default */
        ck_assert_int_eq(t.size, defaults.size);
        t.label = t.type = NULL;
    }
    ck_assert(t.label == NULL || t.label == defaults.label || strcmp(t.label, "test") == 0);
    json_free(doc);
    return t;
}

START_TEST(absent_members_keep_their_defaults)
{
    char told[1024];
    const target t = read("{\"dataset\": 1, \"size\": null, \"x-note\": 3}", told, sizeof told);
    ck_assert_str_eq(told, "");
    ck_assert(t.flag && t.tri == -1 && t.workers == 2 && t.size == 7 && t.rate == 0.5);
    ck_assert(t.label == defaults.label && t.type == defaults.type && t.mode == 1);
    ck_assert(t.every.count == 1 && t.every.unit == TUTTI_UNIT_BATCH);
}
END_TEST

START_TEST(every_type_reaches_its_target)
{
    char told[1024];
    const target t =
        read("{\"flag\": false, \"tri\": true, \"workers\": 4294967295, \"size\": 9000000000,"
             " \"rate\": 2, \"label\": \"test\", \"type\": \"amp_bf16\", \"mode\": \"ignore\","
             " \"every\": \"3ep\", \"dataset\": {}}",
             told, sizeof told);
    ck_assert_str_eq(told, "");
    ck_assert(!t.flag && t.tri == 1 && t.workers == UINT32_MAX);
    ck_assert_int_eq(t.size, 9000000000);
    ck_assert(t.rate == 2.0 && t.type == types[1] && t.mode == 2);
    ck_assert(t.every.count == 3 && t.every.unit == TUTTI_UNIT_EPOCH);
}
END_TEST

START_TEST(words_stand_beside_numbers_and_numbers_for_times)
{
    char told[1024];
    const target t =
        read("{\"dataset\": 0, \"size\": \"auto\", \"tri\": \"auto\", \"every\": 5}", told,
             sizeof told);
    ck_assert_str_eq(told, "");
    ck_assert(t.size == -1 && t.tri == -1);
    ck_assert(t.every.count == 5 && t.every.unit == TUTTI_UNIT_EPOCH);
}
END_TEST

START_TEST(nodes_are_stored_as_they_are)
{
    static const char text[] =
        "{\"dataset\": 0, \"version\": \"1.0\", \"bound\": -2.5, \"tags\": [\"a\", \"b\"], "
        "\"free\": null}";
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    faults *f = faults_create();
    target t = defaults;
    ck_assert_ok(json_parse("run", text, strlen(text), &doc, &err), err);
    ck_assert(json_object_read(json_root(doc), "an object", rows, &t, f));
    ck_assert_uint_eq(faults_count(f), 0);
    ck_assert_str_eq(t.version, "1.0");
    ck_assert_double_eq(json_real(t.bound), -2.5);
    ck_assert_int_eq(json_type(t.free), JSON_NULL);
    const char **words = json_words(t.tags, f);
    ck_assert_str_eq(words[0], "a");
    ck_assert_str_eq(words[1], "b");
    ck_assert_ptr_null(words[2]);
    free(words);
    ck_assert_ptr_null(json_words(NULL, f));
    faults_destroy(f);
    json_free(doc);
}
END_TEST

/* What is faulty leaves its target: no list with an item that is no string. */
START_TEST(faulty_nodes_are_not_stored)
{
    static const char text[] = "{\"dataset\": 0, \"version\": \"one\", \"bound\": true, "
                               "\"tags\": [\"a\", 3]}";
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    faults *f = faults_create();
    target t = defaults;
    ck_assert_ok(json_parse("run", text, strlen(text), &doc, &err), err);
    (void)json_object_read(json_root(doc), "an object", rows, &t, f);
    ck_assert_uint_eq(faults_count(f), 3);
    ck_assert_ptr_null(t.version);
    ck_assert_ptr_null(t.bound);
    ck_assert_ptr_null(t.tags);
    faults_destroy(f);
    json_free(doc);
}
END_TEST

static const struct {
    const char *text, *fault; /* NULL: none */
} spellings[] = {
    {"{\"nmae\": 1, \"names\": 2}", "run:1: nmae: unknown key; did you mean name?"},
    {"{\"nmae\": 1, \"name\": 2}", NULL},
    {"{\"zzz\": 1, \"x-name\": 2, \"\": 3}", NULL},
    {"{}", NULL},
};

START_TEST(a_misspelt_member_is_told_where_it_is_missing)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    faults *f = faults_create();
    const char *text = spellings[_i].text, *want = spellings[_i].fault;
    ck_assert_ok(json_parse("run", text, strlen(text), &doc, &err), err);
    ck_assert_int_eq(json_member_misspelt(json_root(doc), "name", f), want != NULL);
    ck_assert_uint_eq(faults_count(f), want ? 1 : 0);
    if (want)
        ck_assert_str_eq(faults_text(f, 0), want);
    faults_destroy(f);
    json_free(doc);
}
END_TEST

static const struct {
    const char *text, *want;
} cases[] = {
    {"[]", "run:1: is an array, want an object with a dataset"},
    {"{}", "run:1: dataset is missing, want the name of a dataset"},
    {"{\"dataset\": 0,\n\"worker\": 1}", "run:2: worker: unknown key; did you mean workers?"},
    {"{\"dataset\": 0,\n\"zzz\": 1}", "run:2: zzz: unknown key"},
    {"{\"dataset\": 0, \"flag\": 1}", "run:1: flag: is 1, want true or false"},
    {"{\"dataset\": 0, \"tri\": \"auta\"}",
     "run:1: tri: is \"auta\", want true or false or \"auto\"; did you mean auto?"},
    {"{\"dataset\": 0, \"workers\": 0}",
     "run:1: workers: is 0, want an integer of at least 1 and of at most 4294967295"},
    {"{\"dataset\": 0, \"workers\": 1.5}",
     "run:1: workers: is 1.5, want an integer of at least 1 and of at most 4294967295"},
    {"{\"dataset\": 0, \"size\": []}",
     "run:1: size: is an array, want an integer of at least 0, or \"auto\", or null"},
    {"{\"dataset\": 0, \"rate\": 0}",
     "run:1: rate: is 0, want a number above 0 and of at most 2"},
    {"{\"dataset\": 0, \"rate\": 2.5}",
     "run:1: rate: is 2.5, want a number above 0 and of at most 2"},
    {"{\"dataset\": 0, \"label\": \"\"}",
     "run:1: label: is \"\", want a string that is not empty"},
    {"{\"dataset\": 0, \"type\": \"amp_bf61\"}",
     "run:1: type: is \"amp_bf61\", want \"fp32\" or \"amp_bf16\"; did you mean amp_bf16?"},
    {"{\"dataset\": 0, \"mode\": 2}",
     "run:1: mode: is 2, want \"stop\", \"warn\" or \"ignore\""},
    {"{\"dataset\": 0, \"mode\": null}",
     "run:1: mode: is null, want \"stop\", \"warn\" or \"ignore\""},
    {"{\"dataset\": 0, \"every\": true}",
     "run:1: every: is true, want a time such as \"10ep\""},
    {"{\"dataset\": 0, \"every\": \"1.5ep\"}",
     "run:1: every: 1.5ep is not a whole number of epochs"},
    {"{\"dataset\": 0, \"version\": \"one\"}",
     "run:1: version: is \"one\", want a version such as \"1.0\""},
    {"{\"dataset\": 0, \"bound\": \"1\"}", "run:1: bound: is \"1\", want a number"},
    {"{\"dataset\": 0, \"tags\": [\"a\", \"a\"]}", "run:1: tags[1]: \"a\" is there twice"},
    {"{\"dataset\": 0, \"tags\": []}", "run:1: tags: is empty"},
    {"{\"dataset\": 0, \"tags\": \"a\"}", "run:1: tags: is \"a\", want an array of strings"},
    {"{\"flag\": 0, \"workers\": 0}",
     "run:1: flag: is 0, want true or false\n"
     "run:1: workers: is 0, want an integer of at least 1 and of at most 4294967295\n"
     "run:1: dataset is missing, want the name of a dataset"},
};

START_TEST(every_fault_says_where_what_is_and_what_is_wanted)
{
    char told[1024];
    (void)read(cases[_i].text, told, sizeof told);
    ck_assert_str_eq(told, cases[_i].want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_members");
    TCase *one = tcase_create("json_members");
    tcase_add_test(one, absent_members_keep_their_defaults);
    tcase_add_test(one, every_type_reaches_its_target);
    tcase_add_test(one, words_stand_beside_numbers_and_numbers_for_times);
    tcase_add_test(one, nodes_are_stored_as_they_are);
    tcase_add_test(one, faulty_nodes_are_not_stored);
    tcase_add_loop_test(one, a_misspelt_member_is_told_where_it_is_missing, 0,
                        sizeof spellings / sizeof *spellings);
    tcase_add_loop_test(one, every_fault_says_where_what_is_and_what_is_wanted, 0,
                        sizeof cases / sizeof *cases);
    suite_add_tcase(suite, one);
    return tutti_run(suite);
}
