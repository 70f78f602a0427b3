/* instance_test.c - what a manifest says of an object reaches the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_check.h"

/* The registry's side of an instance, as far as the engine asks: no plugin is loaded here. */
struct object {
    object_info info;
};
struct instance {
    object object;
    actor actor;
    tutti_params params;
    int closes;
};

const object_info *object_describe(const object *o)
{
    return &o->info;
}

const object *instance_object(const instance *i)
{
    return &i->object;
}

const char *instance_name(const instance *i)
{
    return i->actor.name;
}

const tutti_params *instance_params(const instance *i)
{
    return &i->params;
}

const int32_t *instance_events(const instance *i, size_t *ret_count)
{
    *ret_count = i->object.info.nevents;
    return i->object.info.events;
}

const tutti_calls *instance_calls(const instance *i)
{
    return &actor_calls;
}

const tutti_calls *instance_participant(instance *i, void **ret_self)
{
    *ret_self = instance_self(i);
    return instance_calls(i);
}

void *instance_self(const instance *i)
{
    return (void *)&i->actor;
}

tutti_status instance_close(instance *i, tutti_error *err)
{
    i->closes += 1;
    return TUTTI_OK;
}

tutti_status instance_post_close(instance *i, tutti_error *err)
{
    i->closes += 10;
    return TUTTI_OK;
}

static const int32_t events[] = {TUTTI_EVENT_BEFORE_LOSS, TUTTI_EVENT_AFTER_LOSS};

/* An instance of object `kind` `name`, whose manifest has `order` (JSON text, NULL for none). */
static json_doc *make(instance *i, const char *kind, const char *name, const char *order)
{
    tutti_error err = TUTTI_ERROR_INIT;
    json_doc *doc = NULL;
    if (order)
        ck_assert_ok(json_parse("plugin.json", order, strlen(order), &doc, &err), err);
    *i = (instance){.object.info = {.name = name,
                                    .kind = kind,
                                    .plugin_id = "org.test",
                                    .manifest = "x/plugin.json",
                                    .events = strcmp(kind, "pass") == 0 ? NULL : events,
                                    .nevents = strcmp(kind, "pass") == 0 ? 0 : 2,
                                    .order = doc ? json_root(doc) : NULL,
                                    .on_error = ON_ERROR_STOP,
                                    .index = -1},
                    .actor = {.name = name, .match = 1, .exit_code = TUTTI_EXIT_NONE}};
    return doc;
}

START_TEST(order_rules_come_from_the_manifest)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance a, b, c, d;
    json_doc *docs[] = {
        make(&a, "algorithm", "a", "{\"after\": [\"c\"], \"reverse_on\": [\"AFTER_LOSS\"]}"),
        make(&b, "algorithm", "b", "{\"last\": true}"), make(&c, "algorithm", "c", NULL),
        make(&d, "algorithm", "d", "{\"before\": [\"nobody\", \"c\"], \"first\": false}")};
    engine *e = new_engine(NULL);
    instance *all[] = {&a, &b, &c, &d};
    for (int k = 0; k < 4; k++)
        ck_assert_ok(engine_add(e, all[k], &err), err);
    seal(e);
    run(e, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_str_eq(journal, "d c a b");
    journal[0] = '\0';
    run(e, TUTTI_EVENT_AFTER_LOSS); /* d b c a reversed; a now before c */
    ck_assert_str_eq(journal, "d a c b");
    engine_destroy(e);
    for (int k = 0; k < 4; k++) {
        ck_assert_int_eq(all[k]->closes, 11);
        json_free(docs[k]);
    }
}
END_TEST

START_TEST(an_event_that_reverse_on_cannot_mean_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance a;
    json_doc *doc = make(&a, "algorithm", "a", "{\"reverse_on\": [\"after_lunch\"]}");
    engine *e = new_engine(NULL);
    ck_assert_int_eq(engine_add(e, &a, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "x/plugin.json: reverse_on names no event: after_lunch");
    engine_destroy(e);
    ck_assert_int_eq(a.closes, 0);
    json_free(doc);
}
END_TEST

START_TEST(only_those_that_do_interpolate_are_warned_about)
{
    static const char *const traits[] = {"interpolate_loss", NULL};
    static const tutti_param off = {.struct_size = (uint32_t)sizeof off,
                                    .type = TUTTI_PARAM_BOOL,
                                    .name = "interpolate_loss"};
    static const tutti_param *const items[] = {&off};
    tutti_error err = TUTTI_ERROR_INIT;
    instance a, b, c;
    (void)make(&a, "algorithm", "a", NULL);
    (void)make(&b, "algorithm", "b", NULL);
    (void)make(&c, "algorithm", "c", NULL);
    a.object.info.traits = b.object.info.traits = c.object.info.traits = traits;
    b.params = (tutti_params){(uint32_t)sizeof b.params, 1, items};
    engine *e = new_engine(NULL);
    ck_assert_ok(engine_add(e, &a, &err), err);
    ck_assert_ok(engine_add(e, &b, &err), err);
    ck_assert_ok(engine_add(e, &c, &err), err);
    seal(e);
    run(e, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_str_eq(log_lines,
                     "2 engine: a and c both interpolate the loss: together they mix "
                     "targets in a way that neither means\n");
    engine_destroy(e);
}
END_TEST

static tutti_status reversed(void *self, int32_t event, const char *const *names, uint32_t n,
                             uint32_t *order, uint32_t *ret_count, tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++)
        order[k] = n - 1 - k;
    *ret_count = n;
    return TUTTI_OK;
}

START_TEST(a_pass_stands_where_its_index_says)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (int front = 0; front < 2; front++) {
        instance a, b, p;
        (void)make(&a, "algorithm", "selective_backprop", NULL);
        (void)make(&b, "algorithm", "b", NULL);
        (void)make(&p, "pass", "p", NULL);
        p.object.info.index = front ? 0 : -1;
        p.actor.pass =
            (tutti_pass_v1){.struct_size = (uint32_t)sizeof p.actor.pass, .order = reversed};
        engine *e = new_engine(NULL);
        ck_assert_ok(engine_add(e, &a, &err), err);
        ck_assert_ok(engine_add(e, &b, &err), err);
        ck_assert_ok(engine_add(e, &p, &err), err);
        seal(e);
        run(e, TUTTI_EVENT_BEFORE_LOSS);
        ck_assert_str_eq(journal, front ? "selective_backprop b" : "b selective_backprop");
        engine_destroy(e);
    }
}
END_TEST

START_TEST(a_pass_whose_settings_leave_it_no_event_counts_on_none)
{
    tutti_error err = TUTTI_ERROR_INIT;
    static const int32_t none[1] = {TUTTI_EVENT_BEFORE_LOSS};
    instance a, b, p;
    (void)make(&a, "algorithm", "a", NULL);
    (void)make(&b, "algorithm", "b", NULL);
    (void)make(&p, "pass", "p", NULL);
    p.object.info.events = none;
    p.object.info.nevents = 0;
    p.actor.pass =
        (tutti_pass_v1){.struct_size = (uint32_t)sizeof p.actor.pass, .order = reversed};
    engine *e = new_engine(NULL);
    ck_assert_ok(engine_add(e, &a, &err), err);
    ck_assert_ok(engine_add(e, &b, &err), err);
    ck_assert_ok(engine_add(e, &p, &err), err);
    seal(e);
    run(e, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_str_eq(journal, "a b");
    engine_destroy(e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("instance");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, order_rules_come_from_the_manifest);
    tcase_add_test(tc, an_event_that_reverse_on_cannot_mean_is_refused);
    tcase_add_test(tc, only_those_that_do_interpolate_are_warned_about);
    tcase_add_test(tc, a_pass_stands_where_its_index_says);
    tcase_add_test(tc, a_pass_whose_settings_leave_it_no_event_counts_on_none);
    return tutti_run(suite);
}
