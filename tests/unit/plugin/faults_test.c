/* faults_test.c - every broken fixture is refused with its whole sentence, and stops no other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <stdio.h>

#define MANIFEST(name) "@/" name "/" name "/plugin.json"
#define LIBRARY(name) "@/" name "/" name "/" name ".so"

static const struct {
    const char *name, *fault;
} judged[] = {
    {"missing_entry",
     LIBRARY("missing_entry") ": does not export \"tutti_plugin_v1\", the entry of a plugin"},
    {"abi_older",
     MANIFEST("abi_older") ":6: abi.min: needs host ABI 0.9, this host has " HOST_ABI " "
                           "and takes 1.x only"},
    {"abi_newer",
     MANIFEST("abi_newer") ":6: abi.min: needs host ABI 1.7 or later, this host has " HOST_ABI},
    {"unknown_key",
     MANIFEST("unknown_key") ":9: objects[0].evnets: unknown key; did you mean events?"},
    {"wrong_type",
     MANIFEST("wrong_type") ":4: version: is 1, want a version such as \"1.2.0\"\n" MANIFEST(
         "wrong_type") ":10: objects[0].params.rate.default: is \"high\", want a number of at "
                       "least 0\n" MANIFEST(
                           "wrong_type") ":11: objects[0].params.mode: values is missing, want "
                                         "an array of strings\n" MANIFEST(
                                             "wrong_type") ":12: objects[0].params.size: want "
                                                           "a "
                                                           "default, \"required\": true or "
                                                           "\"nullable\": true"},
    {"missing_library", LIBRARY("missing_library") ": No such file or directory"},
    {"extra_symbol",
     LIBRARY(
         "extra_symbol") ": exports \"fixture_extra\", which the manifest does not declare; "
                         "want tutti_plugin_v1 and declared kernels only, which "
                         "-fvisibility=hidden and the SDK's version script (tutti_plugin.map, "
                         "for "
                         "C++) see to"},
    {"dotdot",
     MANIFEST("dotdot") ":7: library.path: is \"../../good/good/good.so\", want a path "
                        "below the manifest's folder, without \"..\""},
    {"executable_stack",
     LIBRARY("executable_stack") ": asks for an executable stack, want -Wl,-z,noexecstack"},
};

START_TEST(a_fault_is_seen_without_loading)
{
    char folder[PATH_MAX], want[4096];
    (void)snprintf(folder, sizeof folder, "%s/%s", FIXTURES, judged[_i].name);
    registry *r = registry_over(folder);
    ck_assert_uint_eq(registry_plugin_count(r), 1);
    const plugin_info p = plugin_in(r, judged[_i].name);
    ck_assert_str_eq(shorten(p.fault), judged[_i].fault);
    ck_assert_uint_eq(p.nobjects, 0);

    (void)snprintf(want, sizeof want, "2 plugin @/%s/%s is not used: %s\n", judged[_i].name,
                   judged[_i].name, judged[_i].fault);
    ck_assert_str_eq(reported, want);
    registry_destroy(r);
}
END_TEST

static const struct {
    const char *name;
    tutti_status status;
    const char *sentence;
} loaded[] = {
    {"wrong_magic", TUTTI_E_FORMAT,
     LIBRARY("wrong_magic") ": its entry has magic 0x31304850, want 0x49545554"},
    {"abi_lying", TUTTI_E_VERSION,
     LIBRARY("abi_lying") ": needs host ABI 1.2, its manifest says 1.0 (abi.min)"},
    {"reserved_calls", TUTTI_E_FORMAT,
     LIBRARY("reserved_calls") ": the tutti_calls of reserved_calls has a reserved member that "
                               "is not 0"},
    {"id_mismatch", TUTTI_E_FORMAT,
     LIBRARY("id_mismatch") ": its id is \"org.fixture.other\", its manifest says "
                            "\"org.fixture.id_mismatch\""},
    {"object_mismatch", TUTTI_E_FORMAT,
     LIBRARY("object_mismatch") ": has an object of kind callback called other, which its "
                                "manifest does not have"},
    {"no_object", TUTTI_E_FORMAT,
     LIBRARY("no_object") ": has no object of kind callback called no_object, which its "
                          "manifest has"},
    {"no_run_event", TUTTI_E_FORMAT,
     LIBRARY("no_run_event") ": no_run_event of kind callback has no run_event"},
};

START_TEST(a_fault_is_seen_at_load_and_remembered)
{
    char folder[PATH_MAX];
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    (void)snprintf(folder, sizeof folder, "%s/%s", FIXTURES, loaded[_i].name);
    registry *r = registry_over(folder);
    ck_assert_str_eq(reported, "");
    const object *o = find(r, "callback", loaded[_i].name);
    for (int turn = 0; turn < 2; turn++) {
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_int_eq(instance_open(o, "it", NULL, NULL, NULL, &i, &err), loaded[_i].status);
        ck_assert_str_eq(shorten(err.text), loaded[_i].sentence);
        ck_assert_ptr_null(i);
    }
    ck_assert_str_eq(shorten(plugin_in(r, loaded[_i].name).fault), loaded[_i].sentence);
    registry_destroy(r);
}
END_TEST

START_TEST(an_open_that_fails_says_what_the_plugin_said)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    registry *r = registry_over(FIXTURES "/open_fails");
    const object *o = find(r, "callback", "open_fails");
    ck_assert_int_eq(instance_open(o, "it", NULL, NULL, NULL, &i, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO,
                    "callback it cannot be opened: open_fails: the tape is full");
    ck_assert_ptr_null(i);
    ck_assert_ptr_null(plugin_in(r, "open_fails").fault);
    registry_destroy(r);
}
END_TEST

START_TEST(bad_plugins_stop_no_good_one)
{
    const char *folders[64] = {NULL};
    char room[64][PATH_MAX];
    size_t n = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    faults *f = faults_create();
    for (size_t k = 0; k < sizeof judged / sizeof *judged; k++, n++)
        (void)snprintf(room[n], PATH_MAX, "%s/%s", FIXTURES, judged[k].name);
    for (size_t k = 0; k < sizeof loaded / sizeof *loaded; k++, n++)
        (void)snprintf(room[n], PATH_MAX, "%s/%s", FIXTURES, loaded[k].name);
    (void)snprintf(room[n++], PATH_MAX, "%s/good", FIXTURES);
    for (size_t k = 0; k < n; k++)
        folders[k] = room[k];
    registry *r = registry_over_with(folders, TRUST_OWNER, NULL);
    ck_assert_uint_eq(registry_plugin_count(r), n);
    for (size_t k = 0; k < sizeof loaded / sizeof *loaded; k++)
        ck_assert_int_ne(instance_open(find(r, "callback", loaded[k].name), "it", NULL, NULL,
                                       NULL, &i, NULL),
                         TUTTI_OK);
    const object *o = find(r, "callback", "good");
    tutti_params *params = params_from_json(o, NULL, NULL, "/run", f);
    ck_assert_ptr_nonnull(params);
    ck_assert_ok(instance_open(o, "it", params, NULL, NULL, &i, &err), err);
    instance_free(i);
    faults_destroy(f);
    registry_destroy(r);
}
END_TEST

START_TEST(what_cannot_be_used_is_said_when_a_run_names_it)
{
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/missing_library");
    ck_assert_int_eq(registry_find(r, "callback", "missing_library", &o, &err),
                     TUTTI_E_NOTFOUND);
    ck_assert_str_eq(shorten(err.text), "the callback missing_library cannot be used: " LIBRARY(
                                            "missing_library") ": No such file or directory");
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults");
    TCase *t = tcase_create("faults");
    tcase_add_loop_test(t, a_fault_is_seen_without_loading, 0, sizeof judged / sizeof *judged);
    tcase_add_loop_test(t, a_fault_is_seen_at_load_and_remembered, 0,
                        sizeof loaded / sizeof *loaded);
    tcase_add_test(t, an_open_that_fails_says_what_the_plugin_said);
    tcase_add_test(t, bad_plugins_stop_no_good_one);
    tcase_add_test(t, what_cannot_be_used_is_said_when_a_run_names_it);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
