/* loop_test.c - handles, state_dict, re-entry, nesting, signals, seeds; supervised steps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_check.h"
#include "tutti_host/supervised.h"

#include <signal.h>

static int calls;
static tutti_loop *other;
static uint64_t doomed;

static tutti_status nothing(tutti_loop *l, void *batch, void **out, void *ctx, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status count(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                          tutti_error *err)
{
    calls++;
    return TUTTI_OK;
}

static tutti_status run_other(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                              tutti_error *err)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    args.epoch_length = 2;
    return tutti_loop_run(other, &args, err);
}

static tutti_status remove_doomed(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                                  tutti_error *err)
{
    (void)tutti_loop_remove(l, doomed);
    return TUTTI_OK;
}

static tutti_status interrupt(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                              tutti_error *err)
{
    tutti_loop_interrupt(l);
    return TUTTI_OK;
}

static tutti_status kill_me(tutti_loop *l, const tutti_loop_firing *f, void *ctx,
                            tutti_error *err)
{
    (void)raise(SIGINT);
    return TUTTI_OK;
}

static tutti_loop *make(void)
{
    tutti_loop_options o = TUTTI_LOOP_OPTIONS_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = NULL;
    o.process = nothing;
    ck_assert_ok(tutti_loop_create(&o, &l, &err), err);
    calls = 0;
    return l;
}

static tutti_status run(tutti_loop *l, int64_t epochs, int64_t length, tutti_error *err)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    args.max_epochs = epochs;
    args.epoch_length = length;
    return tutti_loop_run(l, &args, err);
}

START_TEST(a_handle_removes_its_own_registration_on_all_events_and_no_other)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on[2] = {TUTTI_ON_INIT, TUTTI_ON_INIT};
    uint64_t handle = 0;
    on[0].event = TUTTI_EVENT_STARTED;
    on[1].event = TUTTI_EVENT_COMPLETED;
    ck_assert_ok(tutti_loop_add(l, on, 2, count, NULL, &handle, &err), err);
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_STARTED, count, NULL, &err), err);
    ck_assert_ok(run(l, 1, 1, &err), err);
    ck_assert_int_eq(calls, 3);
    ck_assert_int_eq(tutti_loop_remove(l, handle), 1);
    ck_assert_int_eq(tutti_loop_remove(l, handle), 0);
    ck_assert_ok(run(l, 1, 1, &err), err);
    ck_assert_int_eq(calls, 4);
    ck_assert_int_eq(tutti_loop_has(l, -1, count, NULL), 1);
    ck_assert_ok(tutti_loop_remove_handler(l, TUTTI_EVENT_STARTED, count, NULL, &err), err);
    ck_assert_int_eq(tutti_loop_has(l, -1, count, NULL), 0);
    ck_assert_int_eq(tutti_loop_remove_handler(l, TUTTI_EVENT_STARTED, count, NULL, &err),
                     TUTTI_E_NOTFOUND);
    ck_assert_str_eq(err.text, "started has no such handler");
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(a_handler_that_is_removed_by_a_sibling_is_not_called)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on = TUTTI_ON_INIT;
    on.event = TUTTI_EVENT_STARTED;
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_STARTED, remove_doomed, NULL, &err), err);
    ck_assert_ok(tutti_loop_add(l, &on, 1, count, NULL, &doomed, &err), err);
    ck_assert_ok(run(l, 1, 1, &err), err);
    ck_assert_int_eq(calls, 0);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(loops_nest_and_reentry_is_an_error)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *outer = make(), *inner = make();
    other = inner;
    ck_assert_ok(tutti_loop_on(outer, TUTTI_EVENT_EPOCH_COMPLETED, run_other, NULL, &err), err);
    ck_assert_ok(run(outer, 2, 3, &err), err);
    ck_assert_int_eq(tutti_loop_get_state(outer)->iteration, 6);
    ck_assert_int_eq(tutti_loop_get_state(inner)->iteration, 2);
    other = outer;
    ck_assert_int_eq(run(outer, 2, 3, &err), TUTTI_E_STATE);
    ck_assert_str_eq(err.text, "the loop is running already");
    tutti_loop_destroy(outer);
    tutti_loop_destroy(inner);
}
END_TEST

START_TEST(a_signal_ends_the_run_as_an_exception_of_its_own)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_loop_catch_sigint(l, 0);
    ck_assert_ok(tutti_loop_on(l, TUTTI_EVENT_ITERATION_STARTED, kill_me, NULL, &err), err);
    ck_assert_int_eq(run(l, 2, 3, &err), TUTTI_E_INTERRUPTED);
    ck_assert_str_eq(err.text, "stopped by signal 2");
    ck_assert_int_eq(tutti_loop_get_state(l)->iteration, 1);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(the_state_is_saved_and_loading_drops_an_interrupted_run)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    tutti_on on = TUTTI_ON_INIT;
    const int64_t at = 4;
    const tutti_loop_value value = {.type = TUTTI_LOOP_INT, .integer = 7};
    char *text = NULL;
    on.event = TUTTI_EVENT_ITERATION_COMPLETED;
    on.once = &at;
    on.nonce = 1;
    ck_assert_ok(tutti_loop_add(l, &on, 1, interrupt, NULL, NULL, &err), err);
    ck_assert_ok(tutti_loop_set(l, "alpha", &value, &err), err);
    ck_assert_ok(tutti_loop_save_attribute(l, "alpha", &err), err);
    ck_assert_ok(run(l, 3, 3, &err), err);
    ck_assert_int_eq(tutti_loop_interrupted(l), 1);
    ck_assert_ok(tutti_loop_state_dict(l, 0, &text, &err), err);
    ck_assert_str_eq(
        text, "{\"epoch_length\": 3, \"iteration\": 4, \"max_epochs\": 3, \"alpha\": 7}");
    ck_assert_ok(tutti_loop_load_state_dict(l, text, &err), err);
    ck_assert_int_eq(tutti_loop_interrupted(l), 0);
    ck_assert_int_eq(tutti_loop_get_state(l)->epoch, 1);
    ck_assert_int_eq(tutti_loop_load_state_dict(l,
                                                "{\"epoch_length\": 3, \"epoch\": 2, "
                                                "\"iteration\": 6, \"max_epochs\": 3}",
                                                &err),
                     TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "iteration and epoch exclude each other");
    free(text);
    tutti_loop_destroy(l);
}
END_TEST

START_TEST(a_state_at_its_limit_ends_its_run_and_does_not_restart)
{
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_loop *l = make();
    static const int32_t each[] = {TUTTI_EVENT_STARTED, TUTTI_EVENT_ITERATION_STARTED,
                                   TUTTI_EVENT_COMPLETED};
    ck_assert_ok(tutti_loop_load_state_dict(
                     l, "{\"epoch_length\": 3, \"iteration\": 6, \"max_epochs\": 2}", &err),
                 err);
    for (size_t k = 0; k < 3; k++)
        ck_assert_ok(tutti_loop_on(l, each[k], count, NULL, &err), err);
    args.max_epochs = 2;
    args.epoch_length = 3;
    ck_assert_ok(tutti_loop_resume(l, &args, &err), err);
    ck_assert_int_eq(calls, 2); /* started and completed */
    ck_assert_int_eq(tutti_loop_get_state(l)->iteration, 6);
    ck_assert_ok(tutti_loop_run(l, &args, &err), err);
    ck_assert_int_eq(calls, 2 + 2 + 6);
    tutti_loop_destroy(l);
}
END_TEST

/* ---- supervised: one weight, loss (w x - y)^2 ---- */

typedef struct line {
    double w, grad, x, y, y_pred, poison;
    int steps, synchronised;
} line;

static double sample_x, sample_y;
static void *pair[2] = {&sample_x, &sample_y};

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    const int k = (*(int *)ctx)++ % 4;
    sample_x = 0.01 * (k + 1);
    sample_y = sample_x + 0.005;
    *ret_batch = pair;
    return TUTTI_OK;
}

static tutti_status set_training(void *ctx, int training, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status forward(void *ctx, void *x, int32_t precision, void **ret, tutti_error *err)
{
    line *m = ctx;
    m->x = *(double *)x;
    m->y_pred = m->w * m->x;
    *ret = &m->y_pred;
    return TUTTI_OK;
}

static tutti_status loss(void *ctx, void *y_pred, void *y, double *ret, tutti_error *err)
{
    line *m = ctx;
    m->y = *(double *)y;
    *ret = (m->y_pred - m->y) * (m->y_pred - m->y);
    return TUTTI_OK;
}

static tutti_status zero_grad(void *ctx, tutti_error *err)
{
    ((line *)ctx)->grad = 0;
    return TUTTI_OK;
}

static tutti_status backward(void *ctx, double scale, tutti_error *err)
{
    line *m = ctx;
    m->grad += scale * 2 * m->x * (m->y_pred - m->y) + m->poison;
    m->poison = 0;
    return TUTTI_OK;
}

static tutti_status scale_gradients(void *ctx, double factor, int *finite, tutti_error *err)
{
    line *m = ctx;
    m->grad *= factor;
    *finite = isfinite(m->grad);
    return TUTTI_OK;
}

static tutti_status step(void *ctx, tutti_error *err)
{
    line *m = ctx;
    m->w -= 0.1 * m->grad;
    m->steps++;
    return TUTTI_OK;
}

static tutti_status synchronise(void *ctx, tutti_error *err)
{
    ((line *)ctx)->synchronised++;
    return TUTTI_OK;
}

static tutti_supervised *trainer(line *m, const tutti_supervised_options *o)
{
    const tutti_supervised_model model = {m,           set_training, forward,         loss,
                                          zero_grad,   backward,     scale_gradients, step,
                                          synchronise, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_supervised *s = NULL;
    ck_assert_ok(tutti_supervised_trainer(&model, o, &s, &err), err);
    return s;
}

static void fit(tutti_supervised *s, int64_t iterations)
{
    int at = 0;
    const tutti_loop_data data = {.ctx = &at, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    args.data = &data;
    args.epoch_length = iterations;
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
}

/* Row: the step.  Whatever scale is on the way, the weights are those of the plain step. */
START_TEST(every_step_accumulates_to_the_mean_of_its_group)
{
    line m = {0};
    double want = 0;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    o.step = _i;
    o.scaler = _i == TUTTI_STEP_AMP;
    o.accumulation = 2;
    tutti_supervised *s = trainer(&m, &o);
    fit(s, 5); /* the fifth batch begins a group that is never stepped */
    for (int group = 0; group < 2; group++) {
        double mean = 0;
        for (int k = 0; k < 2; k++) {
            const double x = 0.01 * (2 * group + k + 1), y = x + 0.005;
            mean += 0.2 * x * (want * x - y) / 2;
        }
        want -= mean;
    }
    ck_assert_close(m.w, want, 1e-15);
    ck_assert_int_eq(m.steps, 2);
    ck_assert_int_eq(m.synchronised, _i == TUTTI_STEP_ACCELERATOR ? 2 : 0);
    ck_assert_close(*(double *)tutti_loop_get_state(tutti_supervised_loop(s))->output,
                    (m.w * 0.01 - 0.015) * (m.w * 0.01 - 0.015), 1e-15);
    tutti_supervised_destroy(s);
}
END_TEST

START_TEST(gradients_that_are_not_finite_halve_the_scale_and_leave_out_the_update)
{
    line m = {.poison = INFINITY};
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    o.step = TUTTI_STEP_AMP;
    o.precision = TUTTI_PRECISION_F16;
    o.scaler = 1;
    tutti_supervised *s = trainer(&m, &o);
    fit(s, 2);
    ck_assert_int_eq(m.steps, 1);
    ck_assert_close(tutti_supervised_scale(s), 32768.0, 0.0);
    ck_assert_close(tutti_loop_get(tutti_supervised_loop(s), "scaler")->real, 32768.0, 0.0);
    tutti_supervised_destroy(s);
}
END_TEST

START_TEST(options_that_do_not_fit_are_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_supervised_model model = {.forward = forward};
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    o.accumulation = 0;
    ck_assert_int_eq(tutti_supervised_trainer(&model, &o, &s, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "accumulation is 0, want 1 or more");
    err = (tutti_error)TUTTI_ERROR_INIT;
    o.accumulation = 1;
    o.scaler = 1;
    ck_assert_int_eq(tutti_supervised_trainer(&model, &o, &s, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "a scaler goes with the amp step alone");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_handle_removes_its_own_registration_on_all_events_and_no_other);
    tcase_add_test(tc, a_handler_that_is_removed_by_a_sibling_is_not_called);
    tcase_add_test(tc, loops_nest_and_reentry_is_an_error);
    tcase_add_test(tc, a_signal_ends_the_run_as_an_exception_of_its_own);
    tcase_add_test(tc, the_state_is_saved_and_loading_drops_an_interrupted_run);
    tcase_add_test(tc, a_state_at_its_limit_ends_its_run_and_does_not_restart);
    tcase_add_loop_test(tc, every_step_accumulates_to_the_mean_of_its_group, 0, 4);
    tcase_add_test(tc, gradients_that_are_not_finite_halve_the_scale_and_leave_out_the_update);
    tcase_add_test(tc, options_that_do_not_fit_are_refused);
    return tutti_run(suite);
}
