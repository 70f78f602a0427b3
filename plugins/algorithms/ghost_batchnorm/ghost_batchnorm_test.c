/* ghost_batchnorm_test.c - which norms are wrapped, and how a batch is cut. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

static theatre o;
static test_settings g;

static void settings(int64_t size)
{
    test_settings_init(&g);
    test_settings_int(&g, "ghost_batch_size", size);
}

START_TEST(every_batch_norm_is_wrapped_once)
{
    theatre_init(&o);
    const tutti_module norm = theatre_add(&o, "batch_norm2d", NULL);
    (void)theatre_add(&o, "layer_norm", NULL);
    settings(32);
    ck_assert_ok(theatre_operate(&o, "ghost_batchnorm", &g), o.err);
    ck_assert_str_eq(o.r.told, "GhostBatchNorm/num_new_modules=1\n");
    const tree_module *up = &o.t.modules[o.t.modules[norm].parent];
    ck_assert_str_eq(up->kind, "ghost_batch_norm2d");
    ck_assert_int_eq(tutti_param_i64(&up->given.params, "ghost_batch_size"), 32);
    ck_assert_str_eq(o.t.modules[norm].name, "norm");
    ck_assert_ok(theatre_operate(&o, "ghost_batchnorm", &g), o.err);
    ck_assert_str_eq(o.r.told, "GhostBatchNorm/num_new_modules=0\n"
                               "[2] ghost_batchnorm has no effect: the model has no batch norm "
                               "that it changes\n");
}
END_TEST

static tutti_module wrapped(void)
{
    theatre_init(&o);
    const tutti_module m = theatre_add(&o, "ghost_batch_norm2d", NULL);
    const tutti_module norm =
        theatre_add(&o, "batch_norm2d", "eps", 0.001, "momentum", 0.3, NULL);
    o.t.modules[norm].parent = 0;
    ck_assert_ok(tree_add(&o.t, m, "norm", norm, &o.err), o.err);
    return m;
}

/* 10 samples in ghost batches of 4: three parts of 4, 4 and 2, and a third of the momentum. */
START_TEST(parts_are_normalised_in_turn)
{
    settings(4);
    const tutti_module m = wrapped();
    const tutti_layer_v1 *layer = theatre_layer(&o, "ghost_batch_norm2d", &g, m);
    ck_assert_str_eq(
        theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 10, 8, 8, 16)),
        "v2 = slice(v1; begin=[0, 0, 0, 0], end=[4, 8, 8, 16], stride=[1, 1, 1, 1])\n"
        "v3 = batch_norm(v2, weight, bias, running_mean, running_var; eps=0.001, "
        "momentum=0.1)\n"
        "v8 = slice(v1; begin=[4, 0, 0, 0], end=[8, 8, 8, 16], stride=[1, 1, 1, 1])\n"
        "v9 = batch_norm(v8, weight, bias, v6, v7; eps=0.001, momentum=0.1)\n"
        "v14 = slice(v1; begin=[8, 0, 0, 0], end=[10, 8, 8, 16], stride=[1, 1, 1, 1])\n"
        "v15 = batch_norm(v14, weight, bias, v12, v13; eps=0.001, momentum=0.1)\n"
        "v20 = concat(v3, v9, v15; axis=0)\n"
        "running_mean <- v18\n"
        "running_var <- v19\n"
        "v20\n");
    ck_assert_str_eq(
        theatre_trace(&o, layer, m, TUTTI_MODE_EVAL, shape(TUTTI_F32, 10, 8, 8, 16)),
        "v2 = module 3(v1)\nv2\n");
    subject_close(&o.s);
}
END_TEST

/* 20 parts are joined by eights, then what that gives. */
START_TEST(many_parts_are_joined_in_steps)
{
    settings(1);
    const tutti_module m = wrapped();
    const tutti_layer_v1 *layer = theatre_layer(&o, "ghost_batch_norm2d", &g, m);
    const char *text =
        theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 20, 2, 2, 1));
    int parts = 0;
    for (const char *at = text; (at = strstr(at, "= batch_norm(")); at++)
        parts++;
    ck_assert_int_eq(parts, 20);
    const char *last = strstr(text, "concat(v");
    ck_assert_ptr_nonnull(last);
    ck_assert_str_eq(strchr(last, '\n') + 1,
                     "v123 = concat(v51, v57, v63, v69, v75, v81, v87, v93; axis=0)\n"
                     "v124 = concat(v99, v105, v111, v117; axis=0)\n"
                     "v125 = concat(v122, v123, v124; axis=0)\n"
                     "running_mean <- v120\nrunning_var <- v121\nv125\n");
    subject_close(&o.s);
}
END_TEST

START_TEST(a_batch_that_is_too_small_is_refused)
{
    settings(32);
    const tutti_module m = wrapped();
    const tutti_layer_v1 *layer = theatre_layer(&o, "ghost_batch_norm2d", &g, m);
    ck_assert_str_eq(
        theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 31, 2, 2, 1)),
        "failed: ghost_batchnorm: a batch of 31 is smaller than ghost_batch_size 32\n");
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ghost_batchnorm");
    TCase *c = tcase_create("all");
    tcase_add_test(c, every_batch_norm_is_wrapped_once);
    tcase_add_test(c, parts_are_normalised_in_turn);
    tcase_add_test(c, many_parts_are_joined_in_steps);
    tcase_add_test(c, a_batch_that_is_too_small_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
