/* selective_backprop_test.c - when samples are selected, which, and out of which columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

static run r;
static subject s;
static tutti_error err;

static void open_with(double start, double end, double keep, double scale, int64_t interrupt)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "start", start);
    test_settings_float(&g, "end", end);
    test_settings_float(&g, "keep", keep);
    test_settings_float(&g, "scale_factor", scale);
    test_settings_int(&g, "interrupt", interrupt);
    memset(&err, 0, sizeof err);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "selective_backprop", &g,
                              r.services, &err),
                 err);
}

typedef struct when {
    double elapsed;
    int64_t batch;
    int64_t interrupt;
    double keep;
    int32_t want;
} when;

/* start 0.5, end 0.8 of the run */
static const when cases[] = {
    {0.5, 0, 0, 0.5, 1}, {0.7, 0, 0, 0.5, 1}, {0.5, 0, 2, 0.5, 1},  {0.5, 2, 2, 0.5, 1},
    {0.0, 0, 0, 0.5, 0}, {0.8, 0, 0, 0.5, 0}, {0.5, 1, 2, 0.5, 0},  {0.5, 1, 0, 0.5, 1},
    {0.5, 0, 1, 0.5, 0}, {0.5, 0, 0, 1.0, 0}, {-1.0, 0, 0, 0.5, 0}, {1.0, 0, 0, 0.5, 0},
};

START_TEST(it_works_between_start_and_end_but_for_interrupts)
{
    const when *c = &cases[_i];
    run_init(&r);
    run_kernels(&r);
    r.elapsed = c->elapsed;
    r.time.batch_in_epoch = c->batch;
    open_with(0.5, 0.8, c->keep, 1.0, c->interrupt);
    const tutti_event e = {
        sizeof e, TUTTI_EVENT_AFTER_DATALOADER, "after_dataloader", 0, &r.time, &r.time};
    ck_assert_int_eq(s.calls->match(s.self, &e), c->want);
    const tutti_event other = {sizeof e, TUTTI_EVENT_BATCH_START, "batch_start", 0, &r.time,
                               &r.time};
    ck_assert_int_eq(s.calls->match(s.self, &other), 0);
    subject_close(&s);
}
END_TEST

enum { N = 16 };
static float input[N * 2], losses[N];
static int64_t target[N];
static uint8_t extra[3];

static void batch(void)
{
    for (int k = 0; k < N; k++) {
        input[2 * k] = (float)k;
        input[2 * k + 1] = (float)-k;
        target[k] = 100 + k;
        losses[k] = (float)((k * 7) % N); /* the order is not that of the samples */
    }
    run_init(&r);
    run_kernels(&r);
    run_column(&r, "input", shape(TUTTI_F32, N, 2), input);
    run_column(&r, "target", shape(TUTTI_I64, N), target);
    run_column(&r, "extra", shape(TUTTI_U8, 3), extra);
    r.losses = losses;
}

START_TEST(kept_samples_stay_whole_and_in_order)
{
    static const double keeps[] = {0.5, 0.26, 0.999, 0.01};
    static const int64_t counts[] = {8, 4, 15, 1};
    batch();
    open_with(0.0, 1.0, keeps[_i], 1.0, 0);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err), 1);
    ck_assert_str_eq(err.text, "");
    const int64_t count = r.columns[0].desc.dim[0];
    ck_assert_int_eq(count, counts[_i]);
    ck_assert_int_eq(r.columns[1].desc.dim[0], count);
    ck_assert_ptr_eq(r.columns[2].data, extra); /* not one row a sample */
    const float *x = r.columns[0].data;
    const int64_t *y = r.columns[1].data;
    for (int64_t k = 0; k < count; k++) {
        ck_assert_int_eq(y[k] - 100, (int64_t)x[2 * k]);
        ck_assert_close(x[2 * k + 1], -x[2 * k], 0);
        ck_assert(k == 0 || x[2 * k] > x[2 * k - 2]); /* ascending, so without replacement */
    }
    subject_close(&s);
}
END_TEST

/* With N = 2 and keep 1/2 the larger loss has 3/4 of (1/4 + 3/4).  4000 draws: the standard error of
 * the share is 0.007; 4 of them are allowed. */
START_TEST(larger_losses_are_drawn_as_often_as_they_should)
{
    int larger = 0;
    batch();
    open_with(0.0, 1.0, 0.5, 1.0, 0);
    for (int step = 0; step < 4000; step++) {
        r.columns[0] = (tutti_tensor){input, shape(TUTTI_F32, 2, 2), TUTTI_DEVICE_CPU, 0};
        r.columns[1] = (tutti_tensor){target, shape(TUTTI_I64, 2), TUTTI_DEVICE_CPU, 0};
        r.time.batch = step;
        (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
        ck_assert_int_eq(r.columns[0].desc.dim[0], 1);
        larger += *(const float *)r.columns[0].data > 0.5f; /* losses: 0, 7 */
    }
    ck_assert_close(larger / 4000.0, 0.75, 0.028);
    subject_close(&s);
}
END_TEST

START_TEST(draws_depend_on_seed_and_batch_alone)
{
    int64_t got[3][N];
    for (int k = 0; k < 3; k++) {
        batch();
        open_with(0.0, 1.0, 0.5, 1.0, 0);
        r.time.batch = k == 1 ? 8 : 9;
        (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
        memcpy(got[k], r.columns[1].data, 8 * sizeof **got);
        subject_close(&s);
    }
    ck_assert_mem_ne(got[1], got[0], 8 * sizeof **got);
    ck_assert_mem_eq(got[2], got[0], 8 * sizeof **got);
}
END_TEST

/* A ramp along width stays one under bilinear scaling: out pixel k lies at 2 k + 1/2. */
START_TEST(images_are_scaled_for_the_losses_only)
{
    static float images[2 * 4 * 6 * 1];
    batch();
    for (int k = 0; k < 48; k++)
        images[k] = (float)(k % 6) + 10.0f * (float)(k / 6 % 4);
    r.columns[0] = (tutti_tensor){images, shape(TUTTI_F32, 2, 4, 6, 1), TUTTI_DEVICE_CPU, 0};
    r.columns[1].desc.dim[0] = 2;
    open_with(0.0, 1.0, 0.5, 0.5, 0);
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_str_eq(err.text, "");
    ck_assert_int_eq(r.asked.input.desc.dim[1], 2);
    ck_assert_int_eq(r.asked.input.desc.dim[2], 3);
    for (int k = 0; k < 12; k++)
        ck_assert_close(r.asked.data[k], 2.0 * (k % 3) + 0.5 + 10.0 * (2.0 * (k / 3 % 2) + 0.5),
                        1e-5);
    ck_assert_int_eq(r.columns[0].desc.dim[1], 4); /* training sees full size */
    subject_close(&s);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    test_settings g;
    test_settings_init(&g);
    test_settings_float(&g, "start", 0.9);
    test_settings_float(&g, "end", 0.5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "selective_backprop", &g,
                           TUTTI_E_ARG,
                           "selective_backprop: start is 0.9 and end is 0.5, want start below "
                           "end");
    batch();
    open_with(0.0, 1.0, 0.5, 0.5, 0);
    (void)run_event(&r, &s, TUTTI_EVENT_AFTER_DATALOADER, &err);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "selective_backprop: the input is F32 (16, 2), want F32 (B, H, W, C) to "
                    "scale");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("selective_backprop");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, it_works_between_start_and_end_but_for_interrupts, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_loop_test(t, kept_samples_stay_whole_and_in_order, 0, 4);
    tcase_add_test(t, larger_losses_are_drawn_as_often_as_they_should);
    tcase_add_test(t, draws_depend_on_seed_and_batch_alone);
    tcase_add_test(t, images_are_scaled_for_the_losses_only);
    tcase_add_test(t, what_cannot_be_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
