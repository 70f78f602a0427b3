/* gradient_clipping_test.c - clipping by norm, by value and by unit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm_check.h"

static run r;

/* Opens with `type` and `threshold`, runs after_train_batch once, closes. */
static void clip(const char *type, double threshold)
{
    subject s;
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_enum(&g, "clipping_type", type, 0);
    test_settings_float(&g, "clipping_threshold", threshold);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "gradient_clipping", &g,
                              r.services, &err),
                 err);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_BATCH_END, &err), 0);
    ck_assert_int_eq(run_event(&r, &s, TUTTI_EVENT_AFTER_TRAIN_BATCH, &err), 1);
    ck_assert_str_eq(err.text, "");
    subject_close(&s);
}

typedef struct agc_case {
    double threshold;
    tutti_desc desc;
    float w[8];
    float g[8];
    float want[8];
} agc_case;

static const agc_case agc_cases[] = {
    {0.5, {{2}, 1, TUTTI_F32}, {3, 4}, {7, 24}, {0.7f, 2.4f}},
    {1e-4, {{1}, 1, TUTTI_F32}, {0}, {1}, {0}},
    {1e-4, {{1}, 1, TUTTI_F32}, {1}, {0}, {0}},
    {1e-4, {{1}, 1, TUTTI_F32}, {0}, {0}, {0}},
    {0.5, {{0}, 0, TUTTI_F32}, {2}, {-4}, {-1}},
    {0.5, {{2, 2}, 2, TUTTI_F32}, {3, 4, 9, 40}, {7, 24, 5, 12}, {0.7f, 2.4f, 5, 12}},
    {1.0 / 3.0,
     {{2, 2, 2}, 3, TUTTI_F32},
     {3, 8, 2, 2, 1, 3, 3, 9},
     {1, 1, 3, 5, 1, 1, 1, 1},
     {0.5f, 0.5f, 1.5f, 2.5f, 1, 1, 1, 1}},
    {1.0 / 3.0,
     {{2, 1, 2, 2}, 4, TUTTI_F32},
     {3, 8, 2, 2, 1, 3, 3, 9},
     {1, 1, 3, 5, 1, 1, 1, 1},
     {0.5f, 0.5f, 1.5f, 2.5f, 1, 1, 1, 1}},
    {1.0, {{0, 3}, 2, TUTTI_F32}, {0}, {9}, {9}}, /* no elements: nothing is touched */
};

START_TEST(adaptive_clips_each_unit_by_its_weights)
{
    agc_case c = agc_cases[_i];
    run_init(&r);
    run_kernels(&r);
    run_weight(&r, "layer.weight", c.desc, c.w, c.g);
    clip("adaptive", c.threshold);
    for (int k = 0; k < 8; k++)
        ck_assert_close(c.g[k], c.want[k], 1e-6);
}
END_TEST

START_TEST(norm_is_over_all_gradients)
{
    float w[3] = {0}, a[2] = {3, 0}, b[1] = {4};
    run_init(&r);
    run_kernels(&r);
    run_weight(&r, "a", shape(TUTTI_F32, 2), w, a);
    run_weight(&r, "buffer", shape(TUTTI_F32, 1), w, NULL);
    run_weight(&r, "b", shape(TUTTI_F32, 1), w, b);
    clip("norm", 1.0);
    ck_assert_close(a[0], 3.0 / (5.0 + 1e-6), 1e-6);
    ck_assert_close(b[0], 4.0 / (5.0 + 1e-6), 1e-6);
}
END_TEST

START_TEST(a_small_norm_stays_to_the_bit)
{
    float w[2] = {0}, g[2] = {0.3f, -0.4f};
    const float before[2] = {0.3f, -0.4f};
    run_init(&r);
    run_kernels(&r);
    run_weight(&r, "a", shape(TUTTI_F32, 2), w, g);
    clip("norm", 1.0);
    ck_assert_mem_eq(g, before, sizeof g);
}
END_TEST

START_TEST(value_clamps_every_element)
{
    float w[4] = {0}, g[4] = {3, -3, 0.25f, NAN};
    run_init(&r);
    run_kernels(&r);
    run_weight(&r, "a", shape(TUTTI_F32, 4), w, g);
    clip("value", 0.5);
    ck_assert_close(g[0], 0.5, 0);
    ck_assert_close(g[1], -0.5, 0);
    ck_assert_close(g[2], 0.25, 0);
    ck_assert(isnan(g[3])); /* for whoever looks for it */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient_clipping");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, adaptive_clips_each_unit_by_its_weights, 0,
                        (int)(sizeof agc_cases / sizeof *agc_cases));
    tcase_add_test(t, norm_is_over_all_gradients);
    tcase_add_test(t, a_small_norm_stays_to_the_bit);
    tcase_add_test(t, value_clamps_every_element);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
