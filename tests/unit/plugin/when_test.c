/* when_test.c - which events an object's settings leave it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <stdio.h>

/* The good fixture hears batch_end under a condition; whether it does with these settings, and the condition in
 * words. */
static const struct {
    const char *when, *settings, *words;
    bool heard;
} cases[] = {
    {"{\"flag\": true}", "{}", "flag is true", true},
    {"{\"flag\": true}", "{\"flag\": false}", "flag is true", false},
    {"{\"flag\": [true, false]}", "{\"flag\": false}", "flag is true or false", true},
    {"{\"count\": 3}", "{}", "count is 3", true},
    {"{\"count\": [1, 2, 4]}", "{}", "count is 1, 2 or 4", false},
    {"{\"count\": {\"not\": 3}}", "{}", "count is not 3", false},
    {"{\"count\": {\"not\": [1, 2]}}", "{}", "count is not 1 or 2", true},
    {"{\"count\": {\"min\": 3, \"max\": 3}}", "{}",
     "count is at least 3 and count is at most 3", true},
    {"{\"count\": {\"above\": 3}}", "{}", "count is above 3", false},
    {"{\"count\": {\"below\": 3}}", "{\"count\": 2}", "count is below 3", true},
    {"{\"rate\": {\"below\": 0.5}}", "{}", "rate is below 0.5", false},
    {"{\"rate\": 0.5}", "{}", "rate is 0.5", true},
    {"{\"text\": null}", "{}", "text is null", true},
    {"{\"text\": null}", "{\"text\": \"a\"}", "text is null", false},
    {"{\"text\": {\"not\": null}}", "{\"text\": \"a\"}", "text is not null", true},
    {"{\"text\": {\"not\": null}}", "{\"text\": null}", "text is not null", false},
    {"{\"text\": [\"a\", \"b\"]}", "{\"text\": \"b\"}", "text is a or b", true},
    {"{\"text\": \"a\"}", "{}", "text is a", false},
    {"{\"mode\": \"fast\"}", "{\"mode\": \"fast\"}", "mode is fast", true},
    {"{\"mode\": \"fast\"}", "{}", "mode is fast", false},
    {"{\"every\": \"ba\"}", "{}", "every is ba", true},
    {"{\"every\": \"ep\"}", "{}", "every is ep", false},
    {"{\"every\": {\"is\": \"ep\", \"above\": 1}}", "{\"every\": \"2ep\"}",
     "every is ep and every is above 1", true},
    {"{\"every\": {\"is\": \"ep\", \"above\": 1}}", "{\"every\": \"1ep\"}",
     "every is ep and every is above 1", false},
    {"{\"every\": {\"is\": \"ep\", \"above\": 1}}", "{\"every\": \"2ba\"}",
     "every is ep and every is above 1", false},
    {"{\"every\": 10}", "{}", "every is 10", true},
    {"{\"flag\": true, \"mode\": \"fast\"}", "{}", "flag is true and mode is fast", false},
    {"{\"flag\": true, \"mode\": \"fast\"}", "{\"mode\": \"fast\"}",
     "flag is true and mode is fast", true},
    {"[{\"flag\": false}, {\"mode\": \"slow\"}]", "{}", "flag is false, or mode is slow", true},
    {"[{\"flag\": false}, {\"mode\": \"fast\"}]", "{}", "flag is false, or mode is fast",
     false},
};

static tutti_params *settings(const object *o, const char *text)
{
    json_doc *doc = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    ck_assert_ok(json_parse("run.json", text, strlen(text), &doc, &err), err);
    tutti_params *p = params_from_json(o, json_root(doc), NULL, "/run", f);
    ck_assert_msg(p != NULL, "%s", faults_text(f, 0));
    faults_destroy(f);
    json_free(doc);
    return p;
}

START_TEST(settings_decide_what_an_object_hears)
{
    char entry[256];
    size_t n = 0;
    int32_t event = -1;
    char *when = NULL;
    instance *i = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)snprintf(entry, sizeof entry, "{\"name\": \"batch_end\", \"when\": %s}",
                   cases[_i].when);
    make_temporary();
    write_changed("\"batch_end\"", entry);
    registry *r = registry_over(temporary);
    const object *o = find(r, "callback", "good");
    tutti_params *p = settings(o, cases[_i].settings);
    ck_assert_ok(instance_open(o, "it", p, NULL, NULL, &i, &err), err);
    const int32_t *events = instance_events(i, &n);
    ck_assert_uint_eq(object_describe(o)->nevents, 3);
    ck_assert_uint_eq(n, cases[_i].heard ? 3 : 2);
    ck_assert_int_eq(events[0] == TUTTI_EVENT_BATCH_END, cases[_i].heard);
    ck_assert_int_eq(instance_left_out(i, 0, &event, &when), !cases[_i].heard);
    if (!cases[_i].heard) {
        ck_assert_int_eq(event, TUTTI_EVENT_BATCH_END);
        ck_assert_str_eq(when, cases[_i].words);
        ck_assert(!instance_left_out(i, 1, &event, &when));
    }
    free(when);
    char *words = NULL;
    ck_assert(object_when(o, 0, &words));
    ck_assert_str_eq(words, cases[_i].words);
    free(words);
    ck_assert(!object_when(o, 1, &words));
    ck_assert(!object_when(o, 3, NULL)); /* past the last */
    instance_free(i);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(an_object_without_a_list_of_events_has_none)
{
    size_t n = 7;
    instance *i = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/good");
    const object *o = find(r, "callback", "strict");
    ck_assert_ok(instance_open(o, "it", settings(o, "{\"must\": 1}"), NULL, NULL, &i, &err),
                 err);
    ck_assert_ptr_null(instance_events(i, &n));
    ck_assert_uint_eq(n, 0);
    instance_free(i);
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("when");
    TCase *t = tcase_create("when");
    tcase_add_loop_test(t, settings_decide_what_an_object_hears, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(t, an_object_without_a_list_of_events_has_none);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
