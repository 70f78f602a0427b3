/* registry_test.c - finding objects, what manifests say of them, opening and closing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <stdio.h>

START_TEST(a_manifest_is_described)
{
    registry *r = registry_over(FIXTURES "/good");
    const object_info *o = object_describe(find(r, "callback", "good"));
    ck_assert_str_eq(o->name, "good");
    ck_assert_str_eq(o->kind, "callback");
    ck_assert_str_eq(o->doc, "A callback with a setting of every type.");
    ck_assert_str_eq(o->plugin_id, "org.fixture.good");
    ck_assert_str_eq(o->plugin_version, "1.2.0");
    ck_assert_str_eq(shorten(o->manifest), "@/good/good/plugin.json");
    ck_assert_uint_eq(o->nevents, 3);
    ck_assert_int_eq(o->events[0], TUTTI_EVENT_BATCH_END);
    ck_assert_int_eq(o->events[1], TUTTI_EVENT_COMPLETED);
    ck_assert_int_eq(o->events[2], TUTTI_EVENT_CUSTOM);
    ck_assert_str_eq(o->tags[0], "quiet");
    ck_assert_str_eq(o->tags[1], "small");
    ck_assert_ptr_null(o->tags[2]);
    ck_assert_str_eq(o->traits[0], "required_on_load");
    ck_assert_ptr_null(o->traits[1]);
    ck_assert(json_bool(json_get(o->order, "first")));
    ck_assert_uint_eq(json_count(o->params), 8);
    ck_assert_int_eq(o->on_error, ON_ERROR_IGNORE);
    ck_assert_int_eq(o->index, -1);
    const plugin_info p = plugin_in(r, "good");
    ck_assert_str_eq(p.id, "org.fixture.good");
    ck_assert_str_eq(p.license, "Apache-2.0");
    ck_assert_uint_eq(p.nobjects, 2);
    ck_assert_ptr_eq(object_describe(p.objects[0]), o);
    registry_destroy(r);
}
END_TEST

static const struct {
    const char *kind, *name, *sentence;
} absent[] = {
    {"callback", "goood", "there is no callback goood; did you mean good?"},
    {"callback", "zzz", "there is no callback zzz; there are good, strict"},
    {"model", "good", "there is no model good, nor any other model on the plugin search path"},
    {"callback", "org.fixture.other:good",
     "there is no callback org.fixture.other:good, nor any other callback on the plugin search "
     "path"},
    {"callback", "org.fixture.good@9.9.9:good",
     "there is no callback org.fixture.good@9.9.9:good, nor any other callback on the plugin "
     "search path"},
};

START_TEST(an_absent_object_is_named_with_the_nearest)
{
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/good");
    ck_assert_int_eq(registry_find(r, absent[_i].kind, absent[_i].name, &o, &err),
                     TUTTI_E_NOTFOUND);
    ck_assert_error(err, TUTTI_E_NOTFOUND, absent[_i].sentence);
    ck_assert_ptr_null(o);
    registry_destroy(r);
}
END_TEST

START_TEST(a_name_may_pick_its_plugin)
{
    registry *r = registry_over(FIXTURES "/good");
    ck_assert_ptr_eq(find(r, "callback", "org.fixture.good:good"), find(r, "callback", "good"));
    ck_assert_ptr_eq(find(r, "callback", "org.fixture.good@1.2.0:good"),
                     find(r, "callback", "good"));
    registry_destroy(r);
}
END_TEST

START_TEST(a_name_in_two_plugins_must_pick_one)
{
    char folders[2][PATH_MAX + 8];
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    for (int k = 0; k < 2; k++) {
        shell("umask 022; mkdir -p '%s/%d'; cp -r '%s/good/good' '%s/%d/'", temporary, k,
              FIXTURES, temporary, k);
        (void)snprintf(folders[k], sizeof folders[k], "%s/%d", temporary, k);
    }
    shell("sed -i s/org.fixture.good/org.fixture.twin/ '%s/1/good/plugin.json'", temporary);
    const char *const paths[] = {folders[0], folders[1], NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    ck_assert_int_eq(registry_find(r, "callback", "good", &o, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "there are several objects of kind callback called \"good\"; name one of "
                    "org.fixture.good:good, org.fixture.twin:good");
    (void)find(r, "callback", "org.fixture.twin:good");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_bare_name_is_the_projects_own_object)
{
    char folders[2][PATH_MAX + 8];
    make_temporary();
    for (int k = 0; k < 2; k++) {
        shell("umask 022; mkdir -p '%s/%d'; cp -r '%s/good/good' '%s/%d/'", temporary, k,
              FIXTURES, temporary, k);
        (void)snprintf(folders[k], sizeof folders[k], "%s/%d", temporary, k);
    }
    shell("sed -i s/org.fixture.good/org.tutti.good/ '%s/1/good/plugin.json'", temporary);
    const char *const paths[] = {folders[0], folders[1], NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    const object *own = find(r, "callback", "good");
    const object *other = find(r, "callback", "org.fixture.good:good");
    ck_assert_str_eq(object_describe(own)->plugin_id, "org.tutti.good");
    ck_assert_str_eq(object_describe(other)->plugin_id, "org.fixture.good");
    ck_assert_str_eq(registry_hidden_by(r, other), "org.tutti.good");
    ck_assert_ptr_null(registry_hidden_by(r, own));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_refused_plugin_is_not_replaced_by_another_copy)
{
    char folders[2][PATH_MAX + 8];
    const object *o = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    for (int k = 0; k < 2; k++) {
        shell("umask 022; mkdir -p '%s/%d'; cp -r '%s/good/good' '%s/%d/'", temporary, k,
              FIXTURES, temporary, k);
        (void)snprintf(folders[k], sizeof folders[k], "%s/%d", temporary, k);
    }
    shell("sed -i 's/\"min\": \"1.0\"/\"min\": \"1.7\"/' '%s/0/good/plugin.json'", temporary);
    const char *const paths[] = {folders[0], folders[1], NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    ck_assert_int_eq(registry_find(r, "callback", "good", &o, &err), TUTTI_E_NOTFOUND);
    ck_assert_str_eq(shorten(err.text),
                     "the callback good cannot be used: #/0/good/plugin.json:7: abi.min: needs "
                     "host ABI 1.7 or later, this host has " HOST_ABI);
    ck_assert_ptr_nonnull(
        strstr(reported,
               "plugin org.fixture.good 1.2.0 would stand in for #/0/good/plugin.json, which "
               "comes first and was refused; mend or remove that one"));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

static const struct {
    const char *variable, *globs, *fault;
} selections[] = {
    {"TUTTI_DISABLE", "org.fixture.*", "disabled by TUTTI_DISABLE"},
    {"TUTTI_DISABLE", "a.*,*.good", "disabled by TUTTI_DISABLE"},
    {"TUTTI_DISABLE", "org.fixture.goo", NULL},
    {"TUTTI_SELECT", "org.tutti.*", "not selected by TUTTI_SELECT"},
    {"TUTTI_SELECT", "org.tutti.*,org.fixture.g*", NULL},
};

START_TEST(plugins_are_selected_and_disabled_by_id)
{
    ck_assert_int_eq(setenv(selections[_i].variable, selections[_i].globs, 1), 0);
    registry *r = registry_over(FIXTURES "/good");
    ck_assert_pstr_eq(plugin_in(r, "good").fault, selections[_i].fault);
    registry_destroy(r);
    ck_assert_int_eq(unsetenv(selections[_i].variable), 0);
}
END_TEST

START_TEST(a_search_folder_that_is_named_must_be_there)
{
    registry *r = registry_over(FIXTURES "/nowhere");
    ck_assert_uint_eq(registry_plugin_count(r), 0);
    ck_assert_str_eq(
        reported,
        "2 no plugins are taken from @/nowhere: @/nowhere: No such file or directory\n");
    registry_destroy(r);
}
END_TEST

static instance *open_good(registry *r, int64_t count)
{
    char text[64];
    json_doc *doc = NULL;
    instance *i = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    const int size =
        snprintf(text, sizeof text, "{\"name\": \"good\", \"count\": %d}", (int)count);
    ck_assert_ok(json_parse("run.json", text, (size_t)size, &doc, &err), err);
    const object *o = find(r, "callback", "good");
    tutti_params *params = params_from_json(o, json_root(doc), NULL, "/run", f);
    ck_assert_ptr_nonnull(params);
    ck_assert_ok(instance_open(o, "mine", params, NULL, NULL, &i, &err), err);
    ck_assert_ptr_eq(instance_params(i), params);
    json_free(doc);
    faults_destroy(f);
    return i;
}

START_TEST(an_instance_closes_once_in_two_halves)
{
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/good");
    instance *i = open_good(r, 1);
    ck_assert_str_eq(instance_name(i), "mine");
    ck_assert_ptr_nonnull(instance_self(i));
    ck_assert_ptr_nonnull(instance_calls(i)->run_event);
    ck_assert_int_eq(instance_post_close(i, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "callback mine: is not closed");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(instance_close(i, &err), err);
    ck_assert_int_eq(instance_close(i, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "callback mine: is not open");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(instance_post_close(i, &err), err);
    instance_free(i);
    instance_free(NULL);
    registry_destroy(r);
}
END_TEST

START_TEST(a_close_that_fails_is_the_last_call)
{
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/good");
    instance *i = open_good(r, 9);
    ck_assert_int_eq(instance_close(i, &err), TUTTI_E_IO);
    ck_assert_error(err, TUTTI_E_IO, "callback mine: close: good: nine is too many");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_ok(instance_post_close(i, &err), err);
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(tables_are_there_until_close)
{
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = registry_over(FIXTURES "/good");
    instance *i = open_good(r, 1);
    const uint32_t *table = instance_query(i, "org.fixture.table/1");
    ck_assert_ptr_nonnull(table);
    ck_assert_uint_eq(table[2], 7);
    ck_assert_ptr_null(instance_query(i, "org.fixture.none/1"));
    ck_assert_ok(instance_close(i, &err), err);
    ck_assert_ptr_null(instance_query(i, "org.fixture.table/1"));
    instance_free(i);
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry");
    TCase *t = tcase_create("registry");
    tcase_add_test(t, a_manifest_is_described);
    tcase_add_loop_test(t, an_absent_object_is_named_with_the_nearest, 0,
                        sizeof absent / sizeof *absent);
    tcase_add_test(t, a_name_may_pick_its_plugin);
    tcase_add_test(t, a_name_in_two_plugins_must_pick_one);
    tcase_add_test(t, a_bare_name_is_the_projects_own_object);
    tcase_add_test(t, a_refused_plugin_is_not_replaced_by_another_copy);
    tcase_add_loop_test(t, plugins_are_selected_and_disabled_by_id, 0,
                        sizeof selections / sizeof *selections);
    tcase_add_test(t, a_search_folder_that_is_named_must_be_there);
    tcase_add_test(t, an_instance_closes_once_in_two_halves);
    tcase_add_test(t, a_close_that_fails_is_the_last_call);
    tcase_add_test(t, tables_are_there_until_close);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
