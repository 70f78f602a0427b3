/* stochastic_depth_test.c - which blocks are wrapped, when they are dropped, what they compute. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

enum { BLOCKS = 4, LAST = 64 };

static theatre o;
static test_settings g;
static float keep[LAST], survive[LAST]; /* by module */

static tutti_status weight_data(void *ctx, tutti_module m, const char *name, tutti_tensor *ret,
                                tutti_error *err)
{
    (void)ctx, (void)err;
    float *at = strcmp(name, "keep") == 0 ? &keep[m] : &survive[m];
    ck_assert(at == &keep[m] || strcmp(name, "survive") == 0);
    *ret = (tutti_tensor){at, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return TUTTI_OK;
}

static void settings(int64_t form, int64_t method, double rate, int64_t distribution,
                     double warmup)
{
    test_settings_init(&g);
    test_settings_enum(&g, "target_layer_name", "", form);
    test_settings_enum(&g, "stochastic_method", "", method);
    test_settings_float(&g, "drop_rate", rate);
    test_settings_enum(&g, "drop_distribution", "", distribution);
    test_settings_dur(&g, "drop_warmup", warmup);
}

static void start(void)
{
    theatre_init(&o);
    o.t.table.weight_data = weight_data;
    for (int k = 0; k < LAST; k++)
        keep[k] = survive[k] = -1.0f;
}

START_TEST(blocks_get_their_chances_once)
{
    static const char *const kinds[] = {"bottleneck_block", "bottleneck_block", "basic_block",
                                        "residual_block"};
    start();
    settings(_i, 0, 0.4, _i % 2, 0.0);
    tutti_module old[BLOCKS];
    for (int k = 0; k < BLOCKS; k++)
        old[k] = theatre_add(&o, kinds[_i], NULL);
    ck_assert_ok(theatre_operate(&o, "stochastic_depth", &g), o.err);
    ck_assert_str_eq(o.r.told, "stochastic_depth/num_stochastic_layers=4\n");
    for (int k = 0; k < BLOCKS; k++) {
        const tree_module *up = &o.t.modules[o.t.modules[old[k]].parent];
        ck_assert_str_eq(up->kind, "stochastic_block");
        ck_assert_str_eq(o.t.modules[old[k]].name, "block");
        ck_assert_close(tutti_param_f64(&up->given.params, "p"), _i % 2 ? 0.4 : 0.1 * (k + 1),
                        1e-12);
        ck_assert_int_eq(tutti_param_i64(&up->given.params, "form"), _i);
    }
    ck_assert_ok(theatre_operate(&o, "stochastic_depth", &g), o.err); /* twice is once */
    ck_assert_str_eq(o.r.told, "stochastic_depth/num_stochastic_layers=0\n"
                               "[2] stochastic_depth has no effect: the model has no block of "
                               "this name\n");
}
END_TEST

/* 2000 batches: a block is kept as often as it survives; 5 standard errors are at most 0.056. */
START_TEST(blocks_are_kept_as_often_as_they_survive)
{
    tutti_module m[BLOCKS];
    int kept[BLOCKS] = {0};
    start();
    settings(2, 0, 1.0, 0, 0.0); /* dropped with chances 1/4, 2/4, 3/4 and 1 */
    for (int k = 0; k < BLOCKS; k++)
        m[k] = theatre_add(&o, "stochastic_block", NULL);
    ck_assert_ok(subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "stochastic_depth", &g,
                              o.r.services, &o.err),
                 o.err);
    ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BATCH_START, &o.err), 0);
    for (int batch = 0; batch < 2000; batch++) {
        o.r.time.batch = batch;
        ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BEFORE_FORWARD, &o.err), 1);
        for (int k = 0; k < BLOCKS; k++) {
            ck_assert(keep[m[k]] == 0.0f || keep[m[k]] == 1.0f);
            kept[k] += keep[m[k]] == 1.0f;
        }
    }
    ck_assert_str_eq(o.err.text, "");
    for (int k = 0; k < 3; k++)
        ck_assert_close(kept[k] / 2000.0, 1.0 - (k + 1) / 4.0, 0.056);
    ck_assert_int_eq(kept[3], 0);
    subject_close(&o.s);
}
END_TEST

START_TEST(what_chooses_samples_takes_the_path_of_the_first_microbatch)
{
    tutti_module m[BLOCKS];
    float before[BLOCKS];
    int dropped = 0;
    start();
    settings(2, 0, 0.8, 1, 0.0);
    for (int k = 0; k < BLOCKS; k++)
        m[k] = theatre_add(&o, "stochastic_block", NULL);
    ck_assert_ok(subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "stochastic_depth", &g,
                              o.r.services, &o.err),
                 o.err);
    for (int batch = 0; batch < 50; batch++) {
        o.r.time.batch = batch;
        ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BEFORE_DATALOADER, &o.err), 1);
        for (int k = 0; k < BLOCKS; k++)
            before[k] = keep[m[k]];
        ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BEFORE_FORWARD, &o.err), 1);
        for (int k = 0; k < BLOCKS; k++) {
            ck_assert(keep[m[k]] == before[k]);
            dropped += before[k] == 0.0f;
        }
    }
    ck_assert_int_gt(dropped, 50);
    subject_close(&o.s);
}
END_TEST

START_TEST(the_rate_grows_in_the_warm_up)
{
    static const double elapsed[] = {0.0, 0.1, 0.2, 0.9}, want[] = {0.0, 0.2, 0.4, 0.4};
    start();
    settings(2, 0, 0.4, 1, 0.2);
    const tutti_module m = theatre_add(&o, "stochastic_block", NULL);
    ck_assert_ok(subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "stochastic_depth", &g,
                              o.r.services, &o.err),
                 o.err);
    o.r.elapsed = elapsed[_i];
    ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_BATCH_START, &o.err), 1);
    ck_assert_str_eq(o.r.logged[0].name, "stochastic_depth/drop_rate");
    ck_assert_close(o.r.logged[0].value, want[_i], 1e-12);
    ck_assert_close(survive[m], 1.0 - want[_i], 1e-7);
    subject_close(&o.s);
}
END_TEST

/* A wrapped basic block; `shortcut`: with a downsampling. */
static tutti_module wrapped(int shortcut)
{
    static const char *const names[] = {"conv1", "bn1", "conv2", "bn2", "downsample"};
    start();
    const tutti_module m = tree_new(&o.t, "stochastic_block");
    const tutti_module block = tree_new(&o.t, "basic_block");
    ck_assert_ok(tree_add(&o.t, m, "block", block, &o.err), o.err);
    for (int k = 0; k < 4 + shortcut; k++)
        ck_assert_ok(tree_add(&o.t, block, names[k], tree_new(&o.t, names[k]), &o.err), o.err);
    return m;
}

static const tutti_layer_v1 *open_layer(tutti_module m, int64_t method, double p)
{
    test_settings_init(&g);
    test_settings_int(&g, "form", 2);
    test_settings_int(&g, "method", method);
    test_settings_float(&g, "p", p);
    return theatre_layer(&o, "stochastic_block", &g, m);
}

static const tutti_desc image = {{2, 8, 8, 4}, 4, TUTTI_F32};

START_TEST(a_dropped_path_is_not_computed)
{
    const tutti_module m = wrapped(_i);
    const tutti_layer_v1 *layer = open_layer(m, 0, 0.25);
    ck_assert_uint_eq(o.t.modules[m].nweights, 2);
    ck_assert_str_eq(o.t.modules[m].weights[1].name, "survive");
    ck_assert_close(o.t.modules[m].weights[1].init.a, 0.75, 0.0);
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, image),
                     _i ? "if keep {\nv2 = module 4(v1)\nv3 = module 5(v2)\nv4 = relu(v3)\n"
                          "v5 = module 6(v4)\nv6 = module 7(v5)\n}\n"
                          "v7 = module 8(v1)\nv8 = add(v6, v7)\nv9 = relu(v8)\nv9\n"
                        : "if keep {\nv2 = module 4(v1)\nv3 = module 5(v2)\nv4 = relu(v3)\n"
                          "v5 = module 6(v4)\nv6 = module 7(v5)\n}\n"
                          "v7 = add(v6, v1)\nv8 = relu(v7)\nv8\n");
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_EVAL, image),
                     _i ? "v2 = module 4(v1)\nv3 = module 5(v2)\nv4 = relu(v3)\n"
                          "v5 = module 6(v4)\nv6 = module 7(v5)\nv7 = mul(v6, survive)\n"
                          "v8 = module 8(v1)\nv9 = add(v7, v8)\nv10 = relu(v9)\nv10\n"
                        : "v2 = module 4(v1)\nv3 = module 5(v2)\nv4 = relu(v3)\n"
                          "v5 = module 6(v4)\nv6 = module 7(v5)\nv7 = mul(v6, survive)\n"
                          "v8 = add(v7, v1)\nv9 = relu(v8)\nv9\n");
    subject_close(&o.s);
}
END_TEST

START_TEST(samples_have_masks_of_zeros_and_ones)
{
    static const double p[] = {0.25, 0.0, 1.0};
    static const char *const want[] = {
        ("v7 = dropout(constant; p=0.25, stream=2)\nv8 = clamp(v7; min=0, max=1)\n"
         "v9 = mul(v6, v8)\nv10 = add(v9, v1)\nv11 = relu(v10)\nv11\n"),
        "v7 = add(v6, v1)\nv8 = relu(v7)\nv8\n",
        "v7 = affine(v6; scale=0, shift=0)\nv8 = add(v7, v1)\nv9 = relu(v8)\nv9\n"};
    const tutti_module m = wrapped(0);
    const tutti_layer_v1 *layer = open_layer(m, 1, p[_i]);
    const char *text = theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, image);
    ck_assert_str_eq(strstr(text, "v7"), want[_i]);
    subject_close(&o.s);
}
END_TEST

START_TEST(settings_that_contradict_are_refused)
{
    settings(0, 1, 0.2, 0, 0.5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "stochastic_depth", &g,
                           TUTTI_E_ARG,
                           "stochastic_depth: drop_warmup goes with stochastic_method block "
                           "only");
    settings(0, 0, 0.2, 0, 1.5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "stochastic_depth", &g,
                           TUTTI_E_RANGE,
                           "stochastic_depth: drop_warmup is 1.5dur, want 0dur to 1dur");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stochastic_depth");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, blocks_get_their_chances_once, 0, 4);
    tcase_add_test(c, blocks_are_kept_as_often_as_they_survive);
    tcase_add_test(c, what_chooses_samples_takes_the_path_of_the_first_microbatch);
    tcase_add_loop_test(c, the_rate_grows_in_the_warm_up, 0, 4);
    tcase_add_loop_test(c, a_dropped_path_is_not_computed, 0, 2);
    tcase_add_loop_test(c, samples_have_masks_of_zeros_and_ones, 0, 3);
    tcase_add_test(c, settings_that_contradict_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
