/* service_test.c - custom events, tutti.engine/1, counts, Ignite's events and their Composer counterparts, traces, exit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_check.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const custom_event own[] = {{"milestone", "milestones"}, {"signal", NULL}};
enum { MILESTONE = TUTTI_EVENT_CUSTOM, SIGNAL };

static engine *engine_with_events(void)
{
    const engine_options options = {.time = &clock_now,
                                    .eval_time = &clock_eval,
                                    .log = keep_line,
                                    .events = own,
                                    .nevents = 2};
    tutti_error err = TUTTI_ERROR_INIT;
    engine *e = NULL;
    journal[0] = log_lines[0] = '\0';
    ck_assert_ok(engine_create(&options, &e, &err), err);
    return e;
}

START_TEST(custom_events_have_names_in_any_case)
{
    engine *e = engine_with_events();
    ck_assert_int_eq(engine_find_event(e, "MileStone"), MILESTONE);
    ck_assert_int_eq(engine_find_event(e, "signal"), SIGNAL);
    ck_assert_int_eq(engine_find_event(e, "Before_Loss"), TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_int_eq(engine_find_event(e, "mile"), -1);
    ck_assert_str_eq(engine_event_name(e, SIGNAL), "signal");
    ck_assert_str_eq(engine_event_name(e, TUTTI_EVENT_STARTED), "started");
    engine_destroy(e);
}
END_TEST

static const tutti_engine_v1 *served;
static char seen[256];

/* Fires "signal" when it hears "milestone"; writes down where it is. */
static tutti_status fire_on(void *self, const tutti_event *event, tutti_error *err)
{
    const tutti_event *now = served->now(served->ctx);
    const size_t used = strlen(seen);
    (void)snprintf(seen + used, sizeof seen - used, "%s%s", used ? " " : "", now->name);
    if (event->id != MILESTONE)
        return TUTTI_OK;
    const tutti_status s = served->fire(served->ctx, SIGNAL, err);
    ck_assert_ptr_eq(served->now(served->ctx), event);
    return s;
}

START_TEST(a_plugin_fires_an_event_inside_another)
{
    static const tutti_calls calls = {.struct_size = (uint32_t)sizeof calls,
                                      .run_event = fire_on};
    static const int32_t both[] = {MILESTONE, SIGNAL};
    tutti_error err = TUTTI_ERROR_INIT;
    engine *e = engine_with_events();
    actor a = {.name = "a"};
    participant p = as_participant(&a, "callback", both, 2);
    p.calls = &calls;
    add(e, &p);
    seal(e);
    served = engine_service(e);
    seen[0] = '\0';
    ck_assert_ptr_null(served->now(served->ctx));
    ck_assert_ok(served->fire(served->ctx, served->find(served->ctx, "milestone"), &err), err);
    ck_assert_str_eq(seen, "milestone signal");
    ck_assert_ptr_null(served->now(served->ctx));
    ck_assert_int_eq(served->fire(served->ctx, TUTTI_EVENT_BATCH_END, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "event 17 (batch_end) is not of a manifest, so plugins cannot fire it");
    engine_destroy(e);
}
END_TEST

static tutti_status fire_itself(void *self, const tutti_event *event, tutti_error *err)
{
    return served->fire(served->ctx, event->id, err);
}

START_TEST(an_event_that_fires_itself_is_an_error)
{
    static const tutti_calls calls = {.struct_size = (uint32_t)sizeof calls,
                                      .run_event = fire_itself};
    static const int32_t events[] = {SIGNAL};
    tutti_error err = TUTTI_ERROR_INIT;
    engine *e = engine_with_events();
    actor a = {.name = "a"};
    participant p = as_participant(&a, "callback", events, 1);
    p.calls = &calls;
    add(e, &p);
    seal(e);
    served = engine_service(e);
    ck_assert_int_eq(engine_run_event(e, SIGNAL, &err), TUTTI_E_STATE);
    ck_assert_msg(strstr(err.text, "signal goes round: it is fired inside 8 other events"),
                  "%s", err.text);
    engine_destroy(e);
}
END_TEST

START_TEST(counts_come_from_clocks_attributes_and_firings)
{
    engine *e = engine_with_events();
    actor a = {.name = "a"};
    static const int32_t events[] = {SIGNAL};
    participant p = as_participant(&a, "callback", events, 1);
    add(e, &p);
    seal(e);
    served = engine_service(e);
    clock_now.batch = 7;
    clock_now.epoch = 2;
    clock_eval.batch = 4;
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_BATCH_START), 8);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_BATCH_END), 7);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_GET_BATCH_STARTED), 7);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_ITERATION_STARTED), 8);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_ITERATION_COMPLETED), 7);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_EPOCH_STARTED), 3);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_EPOCH_COMPLETED), 2);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_EVAL_BATCH_START), 5);
    ck_assert_int_eq(engine_event_count(e, TUTTI_EVENT_EVAL_BATCH_END), 4);
    run(e, SIGNAL);
    run(e, SIGNAL);
    ck_assert_int_eq(engine_event_count(e, SIGNAL), 2);
    ck_assert_int_eq(engine_event_count(e, MILESTONE), 0);
    *served->attribute(served->ctx, "milestones") = 11;
    ck_assert_int_eq(engine_event_count(e, MILESTONE), 11);
    ck_assert_ptr_null(served->attribute(served->ctx, "epochs"));
    clock_now.batch = clock_now.epoch = clock_eval.batch = 0;
    engine_destroy(e);
}
END_TEST

static const int64_t *count_epochs(void *ctx, int32_t event)
{
    return event == TUTTI_EVENT_EPOCH_STARTED ? ctx : NULL;
}

START_TEST(a_loop_with_clocks_of_its_own_tells_filters_what_to_count)
{
    int64_t epochs = 41, clocks = 0;
    engine *e = engine_with_events();
    ck_assert_int_eq(*engine_filter_count(e, TUTTI_EVENT_STARTED, &clocks), 0);
    engine_count_by(e, count_epochs, &epochs);
    ck_assert_ptr_eq(engine_filter_count(e, TUTTI_EVENT_EPOCH_STARTED, &clocks), &epochs);
    ck_assert_ptr_null(engine_filter_count(e, TUTTI_EVENT_STARTED, &clocks));
    ck_assert_ptr_nonnull(engine_event_attribute(e, MILESTONE));
    ck_assert_ptr_null(engine_event_attribute(e, SIGNAL));
    engine_destroy(e);
}
END_TEST

START_TEST(ignites_events_lie_inside_those_of_training)
{
    static char names[16][32];
    static const int32_t train[] = {TUTTI_EVENT_FIT_START,   TUTTI_EVENT_EPOCH_START,
                                    TUTTI_EVENT_BATCH_START, TUTTI_EVENT_BEFORE_LOSS,
                                    TUTTI_EVENT_BATCH_END,   TUTTI_EVENT_EPOCH_END,
                                    TUTTI_EVENT_FIT_END};
    static const int32_t all[] = {TUTTI_EVENT_FIT_START,       TUTTI_EVENT_STARTED,
                                  TUTTI_EVENT_EPOCH_START,     TUTTI_EVENT_EPOCH_STARTED,
                                  TUTTI_EVENT_BATCH_START,     TUTTI_EVENT_ITERATION_STARTED,
                                  TUTTI_EVENT_BEFORE_LOSS,     TUTTI_EVENT_BATCH_END,
                                  TUTTI_EVENT_EPOCH_END,       TUTTI_EVENT_ITERATION_COMPLETED,
                                  TUTTI_EVENT_EPOCH_COMPLETED, TUTTI_EVENT_COMPLETED,
                                  TUTTI_EVENT_FIT_END};
    actor cast[13];
    engine *e = new_engine(NULL);
    for (int k = 0; k < 13; k++) {
        (void)snprintf(names[k], sizeof names[k], "%s", event_name(all[k]));
        cast[k] = (actor){.name = names[k]};
        participant p = as_participant(&cast[k], "callback", &all[k], 1);
        add(e, &p);
    }
    seal(e);
    for (int k = 0; k < 7; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        ck_assert_ok(engine_run_train_event(e, train[k], &err), err);
    }
    ck_assert_str_eq(journal, "fit_start started epoch_start epoch_started batch_start "
                              "iteration_started before_loss iteration_completed batch_end "
                              "epoch_completed epoch_end completed fit_end");
    engine_destroy(e);
}
END_TEST

static char told[1024];

static void tell(void *ctx, const tutti_trace *t)
{
    const size_t used = strlen(told);
    (void)snprintf(told + used, sizeof told - used, "%s%s/%s=%d@%d", used ? " " : "", t->name,
                   t->event_name, t->ran, t->order);
}

START_TEST(sinks_may_hear_of_those_that_did_not_run)
{
    static const int32_t events[] = {TUTTI_EVENT_BEFORE_LOSS, TUTTI_EVENT_AFTER_LOSS};
    tutti_error err = TUTTI_ERROR_INIT;
    engine *e = new_engine(NULL);
    actor a = {.name = "a", .match = 1}, b = {.name = "b"}, c = {.name = "c", .match = 1};
    actor *cast[] = {&a, &b, &c};
    for (int k = 0; k < 3; k++) {
        participant p = as_participant(cast[k], "algorithm", events, 2);
        add(e, &p);
    }
    seal(e);
    told[0] = '\0';
    run(e, TUTTI_EVENT_BEFORE_LOSS); /* the ring has these two */
    ck_assert_ok(engine_trace_to(e, tell, NULL, true, &err), err);
    run(e, TUTTI_EVENT_AFTER_LOSS);
    ck_assert_str_eq(told, "b/after_loss=0@-1 c/after_loss=1@0 a/after_loss=1@1");
    tutti_trace latest[4];
    ck_assert_uint_eq(engine_traces(e, latest, 4), 4);
    ck_assert_str_eq(latest[0].name, "c");
    ck_assert_str_eq(latest[0].event_name, "before_loss");
    ck_assert_int_eq(latest[1].ran, 0);
    ck_assert_str_eq(latest[3].name, "a");
    for (int k = 0; k < 2000; k++)
        run(e, TUTTI_EVENT_BEFORE_LOSS);
    static tutti_trace all[4096];
    ck_assert_uint_eq(engine_traces(e, all, 4096), ENGINE_RING);
    engine_destroy(e);
}
END_TEST

static void count(void *ctx, const tutti_event *event)
{
    (*(int *)ctx)++;
}

START_TEST(a_watcher_sees_events_that_nobody_hears)
{
    int n = 0;
    engine *e = new_engine(NULL);
    seal(e);
    engine_watch(e, count, &n);
    run(e, TUTTI_EVENT_BATCH_END);
    run(e, TUTTI_EVENT_COMPLETED);
    engine_watch(e, NULL, NULL);
    run(e, TUTTI_EVENT_BATCH_END);
    ck_assert_int_eq(n, 2);
    engine_destroy(e);
}
END_TEST

static tutti_status close_into_pipe(void *self, tutti_error *err)
{
    const actor *a = self;
    ck_assert_int_eq(write(a->runs, "closed", 6), 6);
    return TUTTI_OK;
}

START_TEST(exit_closes_what_is_open)
{
    static const tutti_calls calls = {.struct_size = (uint32_t)sizeof calls,
                                      .run_event = actor_hear,
                                      .close = close_into_pipe};
    static const int32_t events[] = {TUTTI_EVENT_BATCH_END};
    int ends[2];
    char text[16] = "";
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        static actor a = {.name = "a"};
        engine *e = new_engine(NULL);
        participant p = as_participant(&a, "callback", events, 1);
        p.calls = &calls;
        a.runs = ends[1];
        add(e, &p);
        seal(e);
        exit(0);
    }
    (void)close(ends[1]);
    ck_assert_int_eq(read(ends[0], text, sizeof text - 1), 6);
    ck_assert_str_eq(text, "closed");
    (void)close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, custom_events_have_names_in_any_case);
    tcase_add_test(tc, a_plugin_fires_an_event_inside_another);
    tcase_add_test(tc, an_event_that_fires_itself_is_an_error);
    tcase_add_test(tc, counts_come_from_clocks_attributes_and_firings);
    tcase_add_test(tc, a_loop_with_clocks_of_its_own_tells_filters_what_to_count);
    tcase_add_test(tc, ignites_events_lie_inside_those_of_training);
    tcase_add_test(tc, sinks_may_hear_of_those_that_did_not_run);
    tcase_add_test(tc, a_watcher_sees_events_that_nobody_hears);
    tcase_add_test(tc, exit_closes_what_is_open);
    return tutti_run(suite);
}
