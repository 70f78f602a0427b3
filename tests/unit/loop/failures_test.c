/* failures_test.c - what goes wrong in a loop's functions: odd results, recursion, data set too late. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_check.h"
#include "tutti_host/loop.h"

#include <stdio.h>

static int calls, items;
static tutti_status answer; /* what `process` returns */

static tutti_status process(tutti_loop *l, void *batch, void **out, void *ctx, tutti_error *err)
{
    return answer;
}

static tutti_loop *make(void)
{
    tutti_loop_options o = TUTTI_LOOP_OPTIONS_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = NULL;
    o.process = process;
    ck_assert_ok(tutti_loop_create(&o, &l, &err), err);
    calls = items = 0;
    answer = TUTTI_OK;
    return l;
}

static tutti_status run(tutti_loop *l, const tutti_loop_data *data, tutti_error *err)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    args.data = data;
    args.epoch_length = 2;
    return tutti_loop_run(l, &args, err);
}

static tutti_status count(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                          tutti_error *err)
{
    calls++;
    return TUTTI_OK;
}

static tutti_status give(tutti_loop *l, const tutti_loop_firing *f, void *ctx, tutti_error *err)
{
    return *(const tutti_status *)ctx;
}

static tutti_status fire_again(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                               tutti_error *err)
{
    return tutti_loop_fire(l, f->event, err);
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    ++*(int *)ctx;
    *ret_batch = ctx;
    return TUTTI_OK;
}

static tutti_status set_data(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                             tutti_error *err)
{
    return tutti_loop_set_data(l, ctx, err);
}

/* 16 to 18 are what the loop itself calls the ends of its steps. */
START_TEST(a_positive_result_is_a_failure)
{
    static const tutti_status odd[] = {1, 2, 16, 17, 18};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        tutti_loop *l = make();
        char text[128];
        answer = odd[k];
        ck_assert_int_eq(run(l, NULL, &err), odd[k] == 1 ? TUTTI_E_STATE : TUTTI_E_FAIL);
        answer = TUTTI_OK;
        err = (tutti_error)TUTTI_ERROR_INIT;
        ck_assert_ok(
            tutti_loop_on(l, TUTTI_EVENT_ITERATION_STARTED, give, (void *)&odd[k], &err), err);
        const tutti_status s = run(l, NULL, &err);
        (void)snprintf(text, sizeof text,
                       "iteration_started returned %d, want 0 or a negative status",
                       (int)odd[k]);
        ck_assert_error(err, odd[k] == 1 ? TUTTI_E_STATE : TUTTI_E_FAIL,
                        odd[k] == 1 ? "an end of data was told where none is fetched" : text);
        ck_assert_int_eq(s, err.status);
        tutti_loop_destroy(l);
    }
}
END_TEST

static char heard[512];

static tutti_status keep_text(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                              tutti_error *err)
{
    (void)snprintf(heard, sizeof heard, "%s", f->exception->text);
    return TUTTI_OK;
}

START_TEST(a_failure_without_a_text_says_so)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    answer = TUTTI_E_NUMERIC;
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_EXCEPTION_RAISED, keep_text, NULL, &err), err);
    ck_assert_ok(run(l, NULL, &err), err);
    ck_assert_str_eq(heard, "E_NUMERIC without a text");
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(an_event_that_fires_itself_is_an_error)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    int32_t event = 0;
    ck_assert_ok(tutti_loop_register(l, "echo", NULL, &event, &err), err);
    ck_assert_ok(tutti_loop_on(l, event, fire_again, NULL, &err), err);
    ck_assert_int_eq(tutti_loop_fire(l, event, &err), TUTTI_E_STATE);
    ck_assert_error(err, TUTTI_E_STATE, "echo goes round: it is fired inside 64 other events");
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(a_handler_hears_as_many_events_as_it_likes)
{
    enum { MANY = 200 };
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on[MANY];
    for (int k = 0; k < MANY; k++) {
        on[k] = (tutti_on)TUTTI_ON_INIT;
        on[k].event = k + 1 < MANY ? TUTTI_EVENT_STARTED : TUTTI_EVENT_COMPLETED;
    }
    ck_assert_ok(tutti_loop_add(l, on, MANY, count, NULL, NULL, &err), err);
    ck_assert_ok(run(l, NULL, &err), err);
    ck_assert_int_eq(calls, MANY);
    tutti_loop_destroy(l);
}
END_TEST

/* The run that failed is over: what its last handlers set must not be taken for data under way. */
START_TEST(data_set_after_an_error_does_not_hide_that_of_the_next_run)
{
    static const tutti_status fails = TUTTI_E_FAIL;
    int late = 0, own = 0;
    const tutti_loop_data late_data = {.ctx = &late, .next = next};
    const tutti_loop_data own_data = {.ctx = &own, .next = next};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on = TUTTI_ON_INIT;
    uint64_t handle = 0;
    on.event = TUTTI_EVENT_STARTED; /* outside of an epoch */
    ck_assert_ok(tutti_loop_add(l, &on, 1, give, (void *)&fails, &handle, &err), err);
    ck_assert_ok(
        tutti_loop_on(l, TUTTI_EVENT_EXCEPTION_RAISED, set_data, (void *)&late_data, &err),
        err);
    ck_assert_ok(run(l, &own_data, &err), err);
    ck_assert_int_eq(tutti_loop_remove(l, handle), 1);
    ck_assert_ok(run(l, &own_data, &err), err);
    ck_assert_int_eq(own, 2);
    ck_assert_int_eq(late, 0);
    tutti_loop_destroy(l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failures");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_positive_result_is_a_failure);
    tcase_add_test(tc, a_failure_without_a_text_says_so);
    tcase_add_test(tc, an_event_that_fires_itself_is_an_error);
    tcase_add_test(tc, a_handler_hears_as_many_events_as_it_likes);
    tcase_add_test(tc, data_set_after_an_error_does_not_hide_that_of_the_next_run);
    return tutti_run(suite);
}
