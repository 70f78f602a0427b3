/* gyro_dropout_test.c - what is replaced, which masks are in use, and what the layer computes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

enum { TAU = 4, SIGMA = 10 };

static theatre o;
static test_settings g;
static int32_t selection[TAU];

static tutti_status weight_data(void *ctx, tutti_module m, const char *name, tutti_tensor *ret,
                                tutti_error *err)
{
    (void)ctx, (void)m, (void)err;
    ck_assert_str_eq(name, "selection");
    *ret = (tutti_tensor){selection, shape(TUTTI_I32, TAU), TUTTI_DEVICE_CPU, 0};
    return TUTTI_OK;
}

static void start(void)
{
    theatre_init(&o);
    o.t.table.weight_data = weight_data;
    test_settings_init(&g);
    test_settings_float(&g, "p", 0.25);
    test_settings_int(&g, "sigma", SIGMA);
    test_settings_int(&g, "tau", TAU);
}

static tutti_status open_algorithm(void)
{
    return subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "gyro_dropout", &g,
                        o.r.services, &o.err);
}

START_TEST(every_dropout_is_replaced)
{
    start();
    const tutti_module old = theatre_add(&o, "dropout", "p", 0.9, NULL);
    ck_assert_ok(theatre_operate(&o, "gyro_dropout", &g), o.err);
    ck_assert_str_eq(o.r.told, "GyroDropout/num_new_modules=1\n");
    const tree_module *next = &o.t.modules[old]; /* built anew where it is */
    ck_assert_uint_eq(next->rebuilt, 1);
    ck_assert_str_eq(next->kind, "gyro_dropout_layer");
    ck_assert_close(tutti_param_f64(&next->given.params, "p"), 0.25, 0.0);
    ck_assert_int_eq(tutti_param_i64(&next->given.params, "tau"), TAU);
    ck_assert_ok(theatre_operate(&o, "gyro_dropout", &g), o.err);
    ck_assert_str_eq(o.r.told, "GyroDropout/num_new_modules=0\n"
                               "[2] gyro_dropout has no effect: the model has no dropout\n");
}
END_TEST

/* 3 epochs of 10 batches and 10 masks: a period is 30 / 10 * 4 = 12 batches. */
START_TEST(masks_change_with_the_period_alone)
{
    int32_t seen[3][TAU];
    start();
    (void)theatre_add(&o, "gyro_dropout_layer", NULL);
    o.r.max_duration =
        (tutti_time){_i ? 30 : 3, 0.0, _i ? TUTTI_UNIT_BATCH : TUTTI_UNIT_EPOCH, 0};
    o.r.epoch_batches = _i ? -1 : 10;
    ck_assert_ok(open_algorithm(), o.err);
    for (int batch = 0; batch < 30; batch++) {
        o.r.time.batch = batch;
        ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BATCH_START, &o.err),
                         batch % 12 == 0);
        ck_assert_str_eq(o.err.text, "");
        memcpy(seen[batch / 12], selection, sizeof selection);
        for (int k = 0; k < TAU; k++)
            ck_assert(selection[k] >= 0 && selection[k] < SIGMA);
    }
    ck_assert_mem_ne(seen[0], seen[1], sizeof selection);
    ck_assert_mem_ne(seen[1], seen[2], sizeof selection);
    subject_close(&o.s);
    ck_assert_ok(open_algorithm(),
                 o.err); /* a resumed run, in the middle of the second period */
    o.r.time.batch = 17;
    ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BATCH_START, &o.err), 1);
    ck_assert_mem_eq(selection, seen[1], sizeof selection);
    subject_close(&o.s);
}
END_TEST

START_TEST(a_run_without_a_known_length_is_refused)
{
    start();
    o.r.max_duration = (tutti_time){1000, 0.0, TUTTI_UNIT_SAMPLE, 0};
    o.r.epoch_batches = 10;
    ck_assert_ok(open_algorithm(), o.err);
    (void)run_event(&o.r, &o.s, TUTTI_EVENT_BATCH_START, &o.err);
    ck_assert_error(o.err, TUTTI_E_UNSUPPORTED,
                    "gyro_dropout: max_duration must be in batches, or in epochs of a known "
                    "length");
    subject_close(&o.s);
}
END_TEST

START_TEST(rows_share_the_masks_in_use)
{
    start();
    const tutti_module m = theatre_add(&o, "gyro_dropout_layer", NULL);
    const tutti_layer_v1 *layer = theatre_layer(&o, "gyro_dropout_layer", &g, m);
    const tree_weight *w = o.t.modules[m].weights;
    ck_assert_str_eq(w->name, "selection");
    ck_assert_int_eq(w->desc.dtype, TUTTI_I32);
    ck_assert_int_eq(w->desc.dim[0], TAU);
    ck_assert_uint_eq(w->flags, 0);
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 10, 100)),
                     "v2 = gather(constant, selection; axis=0)\n"
                     "v3 = gather(v2, constant; axis=0)\n"
                     "v4 = mul(v1, v3)\nv4\n");
    static const int32_t want[10] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3};
    ck_assert_mem_eq(o.g.constant, want, sizeof want); /* the last one */
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_EVAL, shape(TUTTI_F32, 10, 100)),
                     "v1\n");
    ck_assert_str_eq(
        theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 10, 10, 10)),
        "failed: gyro_dropout: the input of dropout is F32 (10, 10, 10), want (B, N)\n");
    subject_close(&o.s);
}
END_TEST

/* One mask of 1000 elements: a share of p = 0.25 is 0; five standard errors are 5 * 0.0137. */
START_TEST(masks_have_the_share_of_zeros_and_the_scale)
{
    start();
    test_settings_int(&g, "sigma", 1);
    const tutti_module m = theatre_add(&o, "gyro_dropout_layer", NULL);
    const tutti_layer_v1 *layer = theatre_layer(&o, "gyro_dropout_layer", &g, m);
    int zeros = 0;
    (void)theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 1, 1000));
    for (int k = 1; k < 1000; k++) { /* the row's constant lies over the first */
        zeros += o.g.constant[k] == 0.0f;
        ck_assert(o.g.constant[k] == 0.0f || o.g.constant[k] == (float)(1.0 / 0.75));
    }
    ck_assert_close(zeros / 999.0, 0.25, 5 * 0.0137);
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gyro_dropout");
    TCase *c = tcase_create("all");
    tcase_add_test(c, every_dropout_is_replaced);
    tcase_add_loop_test(c, masks_change_with_the_period_alone, 0, 2);
    tcase_add_test(c, a_run_without_a_known_length_is_refused);
    tcase_add_test(c, rows_share_the_masks_in_use);
    tcase_add_test(c, masks_have_the_share_of_zeros_and_the_scale);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
