/* manifest_test.c - what the strict reader says of every way to get a manifest wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <stdio.h>

/* Changes of the good manifest: the text `from` becomes `to`. */
static const struct {
    const char *from, *to, *sentence;
} changes[] = {
    {"\"1.1\",", "\"2.0\",", ":2: format: is \"2.0\", want \"1.1\""},
    {"\"1.1\",", "\"1.0\",",
     ":29: objects[0].params.sizes.scalar: is of format 1.1, and this manifest says 1.0"},
    {"\"scalar\": 3", "\"scalar\": 4",
     ":29: objects[0].params.sizes.scalar: want an integer of 1 to 256 that the list may have "
     "as its length"},
    {"\"scalar\": 3", "\"scalar\": true",
     ":29: objects[0].params.sizes.scalar: want an integer of 1 to 256 that the list may have "
     "as its length"},
    {"{\"type\": \"int\", \"min\": 0}", "{\"type\": \"string\"}",
     ":29: objects[0].params.sizes.scalar: is for lists of numbers"},
    {"\"default\": 3,", "\"default\": 3, \"scalar\": 1,",
     ":23: objects[0].params.count.scalar: unknown key"},
    {"\"id\": \"org.fixture.good\"", "\"id\": \"Good\"",
     ":3: id: is \"Good\", want a name such as \"org.example.thing\" of a-z, 0-9, dots, - and "
     "_"},
    {"\"version\": \"1.2.0\"", "\"version\": \"1.2\"",
     ":4: version: is \"1.2\", want a version such as \"1.2.0\""},
    {"\"version\": \"1.2.0\"", "\"version\": \"01.2.0\"",
     ":4: version: is \"01.2.0\", want a version such as \"1.2.0\""},
    {"  \"license\": \"Apache-2.0\",", "",
     ":1: license is missing, want a string that is not empty"},
    {"\"Apache-2.0\"", "\"\"", ":5: license: is \"\", want a string that is not empty"},
    {"\"min\": \"1.0\"", "\"min\": \"one\"",
     ":7: abi.min: is \"one\", want a version such as \"1.0\""},
    {"\"min\": \"1.0\"", "\"min\": \"1.99\"",
     ":7: abi.min: needs host ABI 1.99 or later, this host has " HOST_ABI},
    {"\"x-note\"", "\"consumes\": [\"tutti.later/1\"], \"x-note\"",
     ":10: consumes[0]: needs a host that asks its objects for tutti.later/1; this one never "
     "does"},
    {"\"batch_end\", \"completed\"", "\"batch_end\", {\"nam\": \"completed\"}",
     ":16: objects[0].events[1].nam: unknown key; did you mean name?\n@:16: "
     "objects[0].events[1]: name is missing, want a string that is not empty"},
    {"\"good.so\"", "\"good.so\", \"sha256\": \"12\"",
     ":8: library.sha256: is \"12\", want 64 lower-case hexadecimal digits"},
    {"\"good.so\"", "\"/good.so\"",
     ":8: library.path: is \"/good.so\", want a path below the manifest's folder, without "
     "\"..\""},
    {"\"tape_full\"],\n  \"x", "\"init\"],\n  \"x",
     ":9: events[0]: \"init\" is an event of the host already"},
    {"x-note", "note", ":10: note: unknown key"},
    {"\"name\": \"good\"", "\"name\": \"Good\"",
     ":13: objects[0].name: is \"Good\", want a letter and then letters, digits and _ in lower "
     "case"},
    {"\"kind\": \"callback\",\n      \"doc\": \"A callback with",
     "\"kind\": \"calback\",\n      \"doc\": \"A callback with",
     ":14: objects[0].kind: \"calback\" is no kind of object; did you mean callback?"},
    {"\"kind\": \"callback\",\n      \"doc\": \"A callback with",
     "\"kind\": \"model\",\n      \"doc\": \"A callback with",
     ":16: objects[0].events: an object of kind model hears no events"},
    {"\"batch_end\", \"completed\"", "\"batch_end\", \"batch_end\"",
     ":16: objects[0].events[1]: \"batch_end\" is there twice"},
    {"\"quiet\", \"small\"", "\"quiet\", 3",
     ":17: objects[0].tags[1]: is 3, want a string that is not empty"},
    {"required_on_load", "required_on_lode",
     ":18: objects[0].traits[0]: \"required_on_lode\" is no trait; did you mean "
     "required_on_load?"},
    {"\"first\": true", "\"first\": 1",
     ":19: objects[0].order.first: is 1, want true or false"},
    {"\"first\": true", "\"frist\": true",
     ":19: objects[0].order.frist: unknown key; did you mean first?"},
    {"\"ignore\"", "\"skip\"",
     ":20: objects[0].on_error: is \"skip\", want \"stop\", \"disable\" or \"ignore\"; did you "
     "mean stop?"},
    {"\"flag\": {\"type\": \"bool\"", "\"flag\": {\"type\": \"boolean\"",
     ":22: objects[0].params.flag.type: is \"boolean\", want \"bool\", \"int\", \"float\", "
     "\"string\", \"enum\", \"time\", \"path\", \"list\" or \"column\"; did you mean bool?"},
    {"\"flag\": {\"type\": \"bool\"", "\"flag\": {\"type\": \"bool\", \"min\": 0",
     ":22: objects[0].params.flag.min: unknown key"},
    {"\"flag\": {", "\"id\": {",
     ":22: objects[0].params.id: want a letter and then letters, digits and _ in lower case, "
     "and "
     "neither \"name\" nor \"id\""},
    {"\"default\": 3", "\"default\": 10",
     ":23: objects[0].params.count.default: is 10, want an integer of at least 1 and of at "
     "most "
     "9"},
    {"\"min\": 1, \"max\"", "\"min\": \"1\", \"max\"",
     ":23: objects[0].params.count.min: is \"1\", want a number"},
    {"\"default\": 0.5", "\"required\": true, \"default\": 0.5",
     ":24: objects[0].params.rate: has both a default and \"required\": true, want one of "
     "them"},
    {"[\"ba\", \"ep\"]", "[\"ba\", \"hours\"]",
     ":27: objects[0].params.every.units[1]: \"hours\" is no unit, want iter, ep, ba, sp, tok, "
     "dur "
     "or sec"},
    {"\"items\": {\"type\": \"int\", \"min\": 0}, ", "",
     ":29: objects[0].params.sizes: items is missing, want an object"},
    {"\"min_count\": 1", "\"min_count\": -1",
     ":29: objects[0].params.sizes.min_count: is -1, want an integer of at least 0"},
    {"\"name\": \"strict\"", "\"name\": \"good\"",
     ":32: objects[1]: there are two objects of kind callback called good"},
    {"  \"objects\": [",
     "  \"kernels\": [{\"name\": \"k\", \"args\": [[\"x\", \"f16\"]]}],\n  "
     "\"objects\": [",
     ":11: kernels[0]: cpu is missing, want an object\n@:11: kernels[0].args[0]: \"f16\" is no "
     "argument type, want i8 to i64, u8 to u64, f32, f64 or buf<T>"},
    {"  \"objects\": [",
     "  \"kernels\": [{\"name\": \"k\", \"args\": [[\"x\", \"f32\"]], \"cpu\": {\"symbol\": "
     "\"k\"}, \"cuda\": {\"file\": \"../k\", \"grid\": \"x\", \"block\": 2000}}],\n  "
     "\"objects\": [",
     ":11: kernels[0].cuda: entry is missing, want a string that is not empty\n@:11: "
     "kernels[0].cuda.file: is "
     "\"../k\", want a file beside the manifest\n@:11: kernels[0].cuda.block: is 2000, want an "
     "integer of at least 1 and of at most 1024\n@:11: kernels[0].cuda.grid: is \"x\", want "
     "the name of an argument of type i64 or "
     "u64"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": 3}",
     ":16: objects[0].events[0].when: is an integer, want an object of settings and their "
     "values"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {}}",
     ":16: objects[0].events[0].when: is empty, want an object of settings and their values"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": []}",
     ":16: objects[0].events[0].when: is empty"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": [\"flag\"]}",
     ":16: objects[0].events[0].when[0]: is a string, want an object of settings and their "
     "values"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flags\": true}}",
     ":16: objects[0].events[0].when.flags: good has no such setting; did you mean flag?"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flag\": \"yes\"}}",
     ":16: objects[0].events[0].when.flag: is \"yes\", want true or false"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flag\": []}}",
     ":16: objects[0].events[0].when.flag: is empty"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flag\": {}}}",
     ":16: objects[0].events[0].when.flag: is empty"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flag\": null}}",
     ":16: objects[0].events[0].when.flag: is null, want true or false"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"flag\": {\"above\": 0}}}",
     ":16: objects[0].events[0].when.flag.above: flag is no number"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"count\": 12}}",
     ":16: objects[0].events[0].when.count: is 12, want an integer of at least 1 and of at "
     "most 9"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"count\": {\"min\": \"1\"}}}",
     ":16: objects[0].events[0].when.count.min: is \"1\", want a number"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"count\": {\"mim\": 1}}}",
     ":16: objects[0].events[0].when.count.mim: unknown key; did you mean min?"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"mode\": [\"slow\", \"fats\"]}}",
     ":16: objects[0].events[0].when.mode[1]: is \"fats\", want \"slow\" or \"fast\"; did you "
     "mean fast?"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"every\": \"iter\"}}",
     ":16: objects[0].events[0].when.every: is \"iter\", want a unit of every (ep, ba) or a "
     "number"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"every\": {\"not\": \"10ba\"}}}",
     ":16: objects[0].events[0].when.every.not: is \"10ba\", want a unit of every (ep, ba) or "
     "a number"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"sizes\": 1}}",
     ":16: objects[0].events[0].when.sizes: is an integer, want null: of a list or path "
     "nothing else can be told"},
    {"\"batch_end\"", "{\"name\": \"batch_end\", \"when\": {\"text\": {\"is\": [[\"a\"]]}}}",
     ":16: objects[0].events[0].when.text.is[0]: is an array, want a value"},
    {"\"events\": [\"batch_end\"", "\"events\": [\"batch_ent\"",
     ":16: objects[0].events[0]: \"batch_ent\" is no event; did you mean batch_end?"},
};

/* `text` with "@" in place of the manifest's path. */
static const char *manifests_own(const char *text)
{
    static char own[4096];
    size_t used = 0;
    const char *path = "#/a/plugin.json";
    for (text = shorten(text); *text && used < sizeof own - 1;) {
        const bool here = strncmp(text, path, strlen(path)) == 0;
        own[used++] = here ? '@' : *text;
        text += here ? strlen(path) : 1;
    }
    own[used] = '\0';
    return own;
}

START_TEST(a_wrong_manifest_says_where_and_what_was_wanted)
{
    make_temporary();
    write_changed(changes[_i].from, changes[_i].to);
    registry *r = registry_over(temporary);
    const char *fault = manifests_own(plugin_in(r, "a").fault);
    ck_assert_msg(*fault == '@', "%s", fault);
    ck_assert_str_eq(fault + 1, changes[_i].sentence);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

/* The newer fixture with `must` understood: what is reported. */
static registry *newer(const char *must)
{
    make_temporary();
    shell("umask 022; mkdir '%s/a'; cp '%s/newer_format/newer_format/newer_format.so' '%s/a/'; "
          "sed 's/\"audience\"/\"must_understand\": [%s], \"audience\"/' "
          "'%s/newer_format/newer_format/plugin.json' >'%s/a/plugin.json'",
          temporary, FIXTURES, temporary, must, FIXTURES, temporary);
    return registry_over(temporary);
}

START_TEST(a_newer_manifest_is_used_as_far_as_it_is_known)
{
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = newer("\"kind\"");
    const plugin_info p = plugin_in(r, "a");
    ck_assert_msg(!p.fault, "%s", p.fault);
    ck_assert_uint_eq(p.nobjects, 1);
    ck_assert_uint_eq(object_describe(p.objects[0])->nevents, 1);
    ck_assert_str_eq(
        manifests_own(reported),
        "2 @:8: audience: unknown key (its format is newer than this host's 1.1)\n"
        "2 @:6: abi.best: unknown key (its format is newer than this host's 1.1)\n"
        "2 @:15: objects[0].colour: unknown key (its format is newer than this host's 1.1)\n"
        "2 @:16: objects[0].traits[0]: \"restful\" is no trait (its format is newer than this "
        "host's 1.1)\n"
        "2 @:18: objects[0].params.rate.step: unknown key (its format is newer than this "
        "host's "
        "1.1)\n"
        "2 @:20: objects[1].kind: \"sorter\" is no kind of object (its format is newer than "
        "this host's 1.1)\n"
        "2 @:17: objects[0].events[1]: \"batch_weighed\" is no event (its format is newer than "
        "this host's 1.1)\n");
    instance *i = NULL;
    tutti_params *params = NULL;
    ck_assert_ok(params_from_attrs(p.objects[0], NULL, 0, &params, &err), err);
    ck_assert_ok(instance_open(p.objects[0], "it", params, NULL, NULL, &i, &err), err);
    instance_free(i);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

static const struct {
    const char *must, *sentence;
} must_understand[] = {
    {"\"audience\"", "@:8: audience: unknown key"},
    {"\"restful\"", "@:16: objects[0].traits[0]: \"restful\" is no trait"},
    {"\"sorter\"", "@:20: objects[1].kind: \"sorter\" is no kind of object"},
    {"\"step\"", "@:18: objects[0].params.rate.step: unknown key"},
    {"\"batch_weighed\"",
     "@:17: objects[0].events[1]: \"batch_weighed\" is no event; did you mean "
     "batch_end?"},
};

START_TEST(what_a_newer_manifest_needs_is_a_fault)
{
    registry *r = newer(must_understand[_i].must);
    const char *fault = plugin_in(r, "a").fault;
    ck_assert_ptr_nonnull(fault);
    ck_assert_str_eq(manifests_own(fault), must_understand[_i].sentence);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

/* A test that a later format brings cannot be decided: the event is heard. */
START_TEST(a_condition_of_a_newer_manifest_holds_as_far_as_it_is_not_known)
{
    size_t n = 0;
    instance *i = NULL;
    tutti_params *params = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    shell("umask 022; mkdir '%s/a'; cp '%s/newer_format/newer_format/newer_format.so' '%s/a/'; "
          "sed 's/\"batch_end\"/{\"name\": \"batch_end\", \"when\": {\"rate\": {\"like\": "
          "5}}}, {\"name\": \"epoch_end\", \"when\": {\"rate\": {\"above\": 5, \"like\": "
          "5}}}/' '%s/newer_format/newer_format/plugin.json' >'%s/a/plugin.json'",
          temporary, FIXTURES, temporary, FIXTURES, temporary);
    registry *r = registry_over(temporary);
    const plugin_info p = plugin_in(r, "a");
    ck_assert_msg(!p.fault, "%s", p.fault);
    ck_assert_ptr_nonnull(
        strstr(reported, "objects[0].events[0].when.rate.like: unknown key (its format"));
    ck_assert_ok(params_from_attrs(p.objects[0], NULL, 0, &params, &err), err);
    ck_assert_ok(instance_open(p.objects[0], "it", params, NULL, NULL, &i, &err), err);
    const int32_t *events = instance_events(i, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(events[0], TUTTI_EVENT_BATCH_END);
    instance_free(i);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(what_is_no_json_is_refused_with_its_line)
{
    make_temporary();
    write_changed("\"license\": \"Apache-2.0\",", "\"license\": \"Apache-2.0\"");
    registry *r = registry_over(temporary);
    ck_assert_str_eq(manifests_own(plugin_in(r, "a").fault),
                     "@:6: not valid JSON: '}' expected near '\"vendor\"'");
    ck_assert_str_eq(plugin_in(r, "a").id, "?");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(more_than_256_objects_are_refused)
{
    static char many[300 * 64];
    size_t used = 0;
    for (int k = 0; k < 256; k++)
        used +=
            (size_t)snprintf(many + used, sizeof many - used,
                             "{\"name\": \"o%d\", \"kind\": \"metric\", \"doc\": \"x\"},\n", k);
    make_temporary();
    (void)snprintf(many + used, sizeof many - used, "%s", "");
    char *to = malloc(used + 32);
    ck_assert_ptr_nonnull(to);
    (void)snprintf(to, used + 32, "\"objects\": [%s", many);
    write_changed("\"objects\": [", to);
    free(to);
    registry *r = registry_over(temporary);
    ck_assert_str_eq(manifests_own(plugin_in(r, "a").fault),
                     "@:11: objects: has 258 entries, want at most 256");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(plugins_that_conflict_are_not_loaded_together)
{
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    write_changed("\"events\": [\"tape_full\"]",
                  "\"events\": [\"tape_full\"], \"conflicts\": [\"org.fixture.kernels\"]");
    const char *const paths[] = {temporary, FIXTURES "/kernels", NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    ck_assert_uint_eq(registry_plugin_count(r), 2);
    ck_assert_ok(registry_check(r, 0, &err), err);
    ck_assert_int_eq(registry_check(r, 1, &err), TUTTI_E_STATE);
    ck_assert_str_eq(shorten(err.text),
                     "@/kernels/kernels/plugin.json: conflicts with org.fixture.good, which is "
                     "used");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("manifest");
    TCase *t = tcase_create("manifest");
    tcase_add_loop_test(t, a_wrong_manifest_says_where_and_what_was_wanted, 0,
                        sizeof changes / sizeof *changes);
    tcase_add_test(t, a_newer_manifest_is_used_as_far_as_it_is_known);
    tcase_add_test(t, a_condition_of_a_newer_manifest_holds_as_far_as_it_is_not_known);
    tcase_add_loop_test(t, what_a_newer_manifest_needs_is_a_fault, 0,
                        sizeof must_understand / sizeof *must_understand);
    tcase_add_test(t, what_is_no_json_is_refused_with_its_line);
    tcase_add_test(t, more_than_256_objects_are_refused);
    tcase_add_test(t, plugins_that_conflict_are_not_loaded_together);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
