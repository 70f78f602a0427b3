/* input_noise_test.c - the template, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/state.h"

/* A run that is at `elapsed` and has one input. */
static uint64_t seed = 17;
static double elapsed;
static tutti_tensor input;

static double get_elapsed(void *ctx)
{
    (void)ctx;
    return elapsed;
}

static tutti_status get(void *ctx, const char *name, tutti_tensor *ret_view, tutti_error *err)
{
    (void)ctx;
    if (strcmp(name, "input") != 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no %s", name);
    *ret_view = input;
    return TUTTI_OK;
}

static const tutti_state_v1 state = {
    .struct_size = sizeof state, .seed = &seed, .elapsed = get_elapsed, .get = get};
static const service services[] = {{TUTTI_STATE_V1, &state}, {NULL, NULL}};

enum { COUNT = 20001 };

/* Opens with `sigma` and, unless it is negative, `stop`. */
static void open_noise(subject *s, double sigma, double stop)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_float(&g, "sigma", sigma);
    if (stop < 0)
        test_settings_null(&g, "stop");
    else
        test_settings_dur(&g, "stop", stop);
    ck_assert_ok(
        subject_open(s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "input_noise", &g, services, &err),
        err);
}

static void apply_at(const subject *s, uint64_t step, float *x)
{
    const tutti_event event = {.struct_size = sizeof event,
                               .id = TUTTI_EVENT_AFTER_DATALOADER,
                               .name = "after_dataloader",
                               .step = step};
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    input = (tutti_tensor){x, {{COUNT}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    ck_assert_int_eq(s->calls->match(s->self, &event), 1);
    ck_assert_ok(s->calls->apply(s->self, &event, &code, &err), err);
    ck_assert(code == TUTTI_EXIT_NONE);
}

START_TEST(noise_has_the_given_deviation_and_no_mean)
{
    static float x[COUNT];
    subject s;
    double sum = 0, squares = 0;
    open_noise(&s, 0.5, -1);
    for (int k = 0; k < COUNT; k++)
        x[k] = 3.0f;
    apply_at(&s, 4, x);
    for (int k = 0; k < COUNT; k++) {
        sum += (double)x[k] - 3.0;
        squares += ((double)x[k] - 3.0) * ((double)x[k] - 3.0);
    }
    /* five standard errors: sigma / sqrt(n) and sigma^2 sqrt(2 / n) */
    ck_assert_close(sum / COUNT, 0.0, 0.018);
    ck_assert_close(squares / COUNT, 0.25, 0.0125);
    subject_close(&s);
}
END_TEST

START_TEST(the_same_step_draws_the_same_noise)
{
    static float a[COUNT], b[COUNT], c[COUNT];
    subject s;
    open_noise(&s, 1.0, -1);
    apply_at(&s, 4, a);
    apply_at(&s, 5, b);
    apply_at(&s, 4, c);
    ck_assert_mem_eq(a, c, sizeof a);
    ck_assert_mem_ne(a, b, sizeof a);
    subject_close(&s);
}
END_TEST

START_TEST(it_stays_out_after_stop_and_without_noise)
{
    const tutti_event event = {.struct_size = sizeof event, .name = "after_dataloader"};
    subject s;
    open_noise(&s, 1.0, 0.5);
    elapsed = 0.49;
    ck_assert_int_eq(s.calls->match(s.self, &event), 1);
    elapsed = 0.5;
    ck_assert_int_eq(s.calls->match(s.self, &event), 0);
    elapsed = 0;
    subject_close(&s);
    open_noise(&s, 0.0, -1);
    ck_assert_int_eq(s.calls->match(s.self, &event), 0);
    subject_close(&s);
}
END_TEST

START_TEST(an_input_that_is_not_f32_is_refused)
{
    const tutti_event event = {.struct_size = sizeof event, .name = "after_dataloader"};
    uint8_t bytes[4] = {0};
    int64_t code = TUTTI_EXIT_NONE;
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    open_noise(&s, 1.0, -1);
    input = (tutti_tensor){bytes, {{2, 2}, 2, TUTTI_U8}, TUTTI_DEVICE_CPU, 0};
    ck_assert_int_eq(s.calls->apply(s.self, &event, &code, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "input_noise: the input is U8 (2, 2), want F32");
    subject_close(&s);
}
END_TEST

START_TEST(a_host_without_state_is_refused)
{
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "input_noise", NULL,
                           TUTTI_E_UNSUPPORTED, "input_noise: this host has no tutti.state/1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("input_noise");
    TCase *t = tcase_create("input_noise");
    tcase_add_test(t, noise_has_the_given_deviation_and_no_mean);
    tcase_add_test(t, the_same_step_draws_the_same_noise);
    tcase_add_test(t, it_stays_out_after_stop_and_without_noise);
    tcase_add_test(t, an_input_that_is_not_f32_is_refused);
    tcase_add_test(t, a_host_without_state_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
