/* activation_monitor_test.c - the callback through its entry function, beside what Composer's computed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run_check.h"
#include "stateful_check.h"
#include "tutti/activations.h"

enum { MOST = 64 };

static stage run;
static subject it;
static test_settings g;
static float numbers[MOST];
static tutti_tensor input, output;
static int observed;
static tutti_activations_v1 activations;

/* A convolution in a block, and the model. */
static tutti_status observe(void *ctx, tutti_activation_fn each, void *each_ctx,
                            tutti_error *err)
{
    (void)ctx;
    observed++;
    tutti_activation a = {.struct_size = sizeof a,
                          .ninputs = 1,
                          .noutputs = 1,
                          .path = "net.conv",
                          .kind = "conv2d",
                          .inputs = &input,
                          .outputs = &output};
    const tutti_status s = each(each_ctx, &a, err);
    a.path = "";
    a.kind = "cnn";
    return s ? s : each(each_ctx, &a, err);
}

static void open_it(const char *ignored, int64_t interval, int32_t unit)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    observed = 0;
    activations = (tutti_activations_v1){.struct_size = sizeof activations, .observe = observe};
    run.services[6] = (service){TUTTI_ACTIVATIONS_V1, &activations};
    test_settings_init(&g);
    test_settings_time(&g, "interval", interval, unit);
    if (ignored)
        test_settings_list(&g, "ignore_module_types", TUTTI_PARAM_STRING, 1)->s = ignored;
    else
        test_settings_null(&g, "ignore_module_types");
    test_settings_bool(&g, "only_log_wandb", 1);
    ck_assert_ok(subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "activation_monitor", &g,
                              run.services, &err),
                 err);
}

static void close_it(void)
{
    subject_close(&it);
    stage_fini(&run);
}

static double logged(const char *name)
{
    tutti_error err = TUTTI_ERROR_INIT;
    double value = 0.0;
    ck_assert_ok(run.tables.metrics.get(run.tables.metrics.ctx, name, &value, &err), err);
    return value;
}

/* Element k is power((37 k + 11 seed) mod 101 / 101 - 1/2) * scale. */
static tutti_tensor fill(tutti_desc desc, int seed, int power, float scale)
{
    for (int64_t k = 0; k < tutti_numel(&desc); k++) {
        const float x = (float)((k * 37 + seed * 11) % 101) / 101.0f - 0.5f;
        numbers[k] = (power == 3 ? x * x * x : x) * scale;
    }
    return (tutti_tensor){numbers, desc, TUTTI_DEVICE_CPU, 0};
}

static void ck_near(const char *statistic, double want)
{
    char name[96];
    (void)snprintf(name, sizeof name, "activations/%s/net.conv_input.0", statistic);
    const double got = logged(name);
    ck_assert_msg(isnan(want) ? isnan(got) : fabs(got - want) <= 2e-6 * fabs(want) + 1e-7,
                  "%s: %.9g, want %.9g", name, got, want);
}

/* composer 0.32.1 with torch 2.7.0: ActivationMonitor.recursively_add_metrics on the same numbers, in f32. */
START_TEST(statistics_are_as_upstream)
{
    static const struct {
        tutti_desc desc;
        int seed, power;
        float scale;
        double l2_norm, average, kurtosis, max;
    } upstream[] = {
        {{{2, 3, 4}, 3, TUTTI_F32},
         1,
         1,
         1.0f,
         0.562506378,
         -0.0115511576,
         1.78289366,
         0.366336614},
        {{{5, 7}, 2, TUTTI_F32},
         2,
         3,
         1.0f,
         0.120316744,
         0.000900883868,
         2.90565562,
         0.0774784982},
        {{{2, 4}, 2, TUTTI_F32}, 0, 1, 0.0f, 0.0, 0.0, NAN, 0.0},
        {{{3, 2, 2, 5}, 4, TUTTI_F32},
         3,
         1,
         100.0f,
         64.328743,
         0.0330034904,
         1.63535309,
         37.7887764},
        {{{6}, 1, TUTTI_F32}, 4, 1, 1.0f, 0.649213552, 0.0181518178, 1.6008563, 0.400990099},
    };
    open_it(NULL, 25, TUTTI_UNIT_BATCH);
    for (size_t k = 0; k < sizeof upstream / sizeof *upstream; k++) {
        input = output =
            fill(upstream[k].desc, upstream[k].seed, upstream[k].power, upstream[k].scale);
        run.time.batch = 25 * (int64_t)k;
        ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
        ck_near("l2_norm", upstream[k].l2_norm);
        ck_near("average", upstream[k].average);
        ck_near("kurtosis", upstream[k].kurtosis);
        ck_near("max", upstream[k].max);
    }
    close_it();
}
END_TEST

START_TEST(a_nan_is_seen_in_all_of_them)
{
    open_it(NULL, 25, TUTTI_UNIT_BATCH);
    input = output = fill((tutti_desc){{2, 3}, 2, TUTTI_F32}, 1, 1, 1.0f);
    numbers[1] = NAN;
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
    ck_near("l2_norm", NAN);
    ck_near("average", NAN);
    ck_near("kurtosis", NAN);
    ck_near("max", NAN);
    close_it();
}
END_TEST

START_TEST(inputs_and_outputs_of_every_module_are_named)
{
    open_it(NULL, 25, TUTTI_UNIT_BATCH);
    static int32_t tokens[6];
    output = fill((tutti_desc){{2, 3}, 2, TUTTI_F32}, 1, 1, 1.0f);
    input = (tutti_tensor){tokens, {{2, 3}, 2, TUTTI_I32}, TUTTI_DEVICE_CPU, 0};
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
    ck_assert_uint_eq(run.nvalues, 8); /* whole numbers have no statistics */
    ck_assert(isfinite(logged("activations/l2_norm/net.conv_output.0")));
    ck_assert(isfinite(logged("activations/average/net.conv_output.0")));
    ck_assert(isfinite(logged("activations/kurtosis/_output.0")));
    ck_assert(isfinite(logged("activations/max/_output.0")));
    close_it();
}
END_TEST

START_TEST(ignore_module_types_are_parts_of_paths)
{
    open_it("conv", 25, TUTTI_UNIT_BATCH);
    input = output = fill((tutti_desc){{2, 3}, 2, TUTTI_F32}, 1, 1, 1.0f);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
    ck_assert_uint_eq(run.nvalues, 8);
    for (uint32_t k = 0; k < run.nvalues; k++)
        ck_assert_ptr_null(strstr(run.values[k].name, "conv"));
    close_it();
}
END_TEST

/* The first microbatch of each batch, or epoch, that the interval names. */
START_TEST(the_interval_is_kept)
{
    open_it(NULL, _i ? 2 : 10, _i ? TUTTI_UNIT_EPOCH : TUTTI_UNIT_BATCH);
    input = output = fill((tutti_desc){{2, 3}, 2, TUTTI_F32}, 1, 1, 1.0f);
    for (int k = 0; k < 40; k++) {
        for (int part = 0; part < 2; part++)
            ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
        ck_assert_int_eq(observed, 1 + (_i ? k / 16 : k / 10));
        stage_next_batch(&run);
        if (k % 8 == 7)
            stage_next_epoch(&run);
    }
    close_it();
}
END_TEST

START_TEST(an_epoch_is_logged_once_also_in_a_run_that_is_resumed)
{
    open_it(NULL, 1, TUTTI_UNIT_EPOCH);
    input = output = fill((tutti_desc){{2, 3}, 2, TUTTI_F32}, 1, 1, 1.0f);
    stage_next_epoch(&run);
    for (int k = 0; k < 2; k++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
        ck_assert_int_eq(observed, 1);
        stage_next_batch(&run);
        stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
    }
    stage_next_epoch(&run);
    ck_assert_hears(&run, &it, TUTTI_EVENT_AFTER_FORWARD);
    ck_assert_int_eq(observed, 2);
    close_it();
}
END_TEST

START_TEST(an_interval_of_nothing_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    stage_init(&run);
    test_settings_init(&g);
    test_settings_time(&g, "interval", 0, TUTTI_UNIT_BATCH);
    (void)subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "activation_monitor", &g,
                       run.services, &err);
    ck_assert_error(err, TUTTI_E_RANGE, "activation_monitor: interval must be above 0");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("activation_monitor");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, statistics_are_as_upstream);
    tcase_add_test(tc, a_nan_is_seen_in_all_of_them);
    tcase_add_test(tc, inputs_and_outputs_of_every_module_are_named);
    tcase_add_test(tc, ignore_module_types_are_parts_of_paths);
    tcase_add_loop_test(tc, the_interval_is_kept, 0, 2);
    tcase_add_test(tc, an_epoch_is_logged_once_also_in_a_run_that_is_resumed);
    tcase_add_test(tc, an_interval_of_nothing_is_refused);
    return tutti_run(suite);
}
