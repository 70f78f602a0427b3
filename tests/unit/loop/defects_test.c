/* defects_test.c - where Ignite's engine goes wrong and this one does not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_check.h"
#include "tutti_host/loop.h"

enum { ITEMS = 2 }; /* of the data, which does not say so */

static int started, raised;
static tutti_status answer; /* what `process` returns */
static int given;           /* items since the restart */

static tutti_status process(tutti_loop *l, void *batch, void **out, void *ctx, tutti_error *err)
{
    return answer ? tutti_fail(err, answer, "boom") : TUTTI_OK;
}

static tutti_status count(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                          tutti_error *err)
{
    ++*(int *)ctx;
    return TUTTI_OK;
}

static tutti_status interrupt(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                              tutti_error *err)
{
    tutti_loop_interrupt(l);
    return TUTTI_OK;
}

static tutti_status restart(void *ctx, tutti_error *err)
{
    given = 0;
    return TUTTI_OK;
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    *ret_batch = &given;
    return given++ < ITEMS ? TUTTI_OK : TUTTI_LOOP_END;
}

static tutti_loop *make(void)
{
    tutti_loop_options o = TUTTI_LOOP_OPTIONS_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = NULL;
    o.process = process;
    ck_assert_ok(tutti_loop_create(&o, &l, &err), err);
    started = raised = 0;
    answer = TUTTI_OK;
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_STARTED, count, &started, &err), err);
    return l;
}

static tutti_status run(tutti_loop *l, tutti_error *err)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    args.max_epochs = 2;
    args.epoch_length = 3;
    return tutti_loop_run(l, &args, err);
}

START_TEST(the_run_after_one_that_failed_runs)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    answer = TUTTI_E_FAIL;
    ck_assert_int_eq(run(l, &err), TUTTI_E_FAIL);
    ck_assert_int_eq(started, 1);
    answer = TUTTI_OK;
    ck_assert_ok(run(l, &err), err);
    ck_assert_int_eq(started, 2);
    ck_assert_int_eq(tutti_loop_get_state(l)->epoch, 2);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(an_error_that_nobody_hears_any_more_ends_the_run)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on = TUTTI_ON_INIT;
    uint64_t handle = 0;
    on.event = TUTTI_EVENT_EXCEPTION_RAISED;
    ck_assert_ok(tutti_loop_add(l, &on, 1, count, &raised, &handle, &err), err);
    answer = TUTTI_E_FAIL;
    ck_assert_ok(run(l, &err), err);
    ck_assert_int_eq(raised, 2);
    ck_assert_int_eq(tutti_loop_remove(l, handle), 1);
    ck_assert_int_eq(run(l, &err), TUTTI_E_FAIL);
    ck_assert_int_eq(raised, 2);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(an_interrupted_run_that_is_dropped_raises_nothing)
{
    const int64_t at = 4;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on = TUTTI_ON_INIT;
    uint64_t handle = 0;
    on.event = TUTTI_EVENT_ITERATION_COMPLETED;
    on.once = &at;
    on.nonce = 1;
    ck_assert_ok(tutti_loop_add(l, &on, 1, interrupt, NULL, &handle, &err), err);
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_EXCEPTION_RAISED, count, &raised, &err), err);
    ck_assert_ok(run(l, &err), err);
    ck_assert_int_eq(tutti_loop_interrupted(l), 1);
    ck_assert_int_eq(tutti_loop_remove(l, handle), 1);
    tutti_loop_get_state(l)->max_epochs = TUTTI_LOOP_NONE; /* starts anew */
    ck_assert_ok(run(l, &err), err);
    ck_assert_int_eq(raised, 0);
    ck_assert_int_eq(started, 2);
    ck_assert_int_eq(tutti_loop_get_state(l)->iteration, 6);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(max_iters_over_data_of_unknown_length_can_be_raised)
{
    const tutti_loop_data data = {.restart = restart, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    args.data = &data;
    args.max_iters = 3;
    ck_assert_ok(tutti_loop_run(l, &args, &err), err);
    ck_assert_int_eq(tutti_loop_get_state(l)->iteration, 3);
    ck_assert(tutti_loop_get_state(l)->max_epochs == TUTTI_LOOP_NONE);
    args.max_iters = 7;
    ck_assert_ok(tutti_loop_run(l, &args, &err), err);
    ck_assert_int_eq(tutti_loop_get_state(l)->iteration, 7);
    tutti_loop_destroy(l);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("defects");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_run_after_one_that_failed_runs);
    tcase_add_test(tc, an_error_that_nobody_hears_any_more_ends_the_run);
    tcase_add_test(tc, an_interrupted_run_that_is_dropped_raises_nothing);
    tcase_add_test(tc, max_iters_over_data_of_unknown_length_can_be_raised);
    return tutti_run(suite);
}
