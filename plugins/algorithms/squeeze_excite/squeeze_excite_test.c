/* squeeze_excite_test.c - which convolutions get a block, and what the block computes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_check.h"

#include "tutti/log.h"
#include "tutti/metrics.h"

#include <stdio.h>

static tree t;
static record r;
static subject s;
static test_settings g;
static tutti_error err;
static char told[512];

static void write_log(void *ctx, int32_t level, const char *text)
{
    const size_t used = strlen(told);
    (void)ctx;
    (void)snprintf(told + used, sizeof told - used, "[%d] %s\n", level, text);
}

static void hyperparameter(void *ctx, const char *name, const char *json)
{
    const size_t used = strlen(told);
    (void)ctx;
    (void)snprintf(told + used, sizeof told - used, "%s=%s\n", name, json);
}

static const tutti_log_v1 log_table = {.struct_size = sizeof log_table, .write = write_log};
static const tutti_metrics_v1 metrics_table = {.struct_size = sizeof metrics_table,
                                               .hyperparameter = hyperparameter};
static service services[] = {{TUTTI_MODULE_V1, &t.table},
                             {TUTTI_LOG_V1, &log_table},
                             {TUTTI_METRICS_V1, &metrics_table},
                             {NULL, NULL}};

static tutti_module add_conv(int64_t in, int64_t out)
{
    const tutti_attr attr[] = {tutti_attr_i("in_channels", in),
                               tutti_attr_i("out_channels", out)};
    tutti_module m;
    ck_assert_ok(tree_create(&t, "conv2d", attr, 2, &m, &err), err);
    ck_assert_ok(tree_add(&t, 1, "conv", m, &err), err);
    return m;
}

static tutti_status run(double latent)
{
    const tutti_timestamp time = {.struct_size = sizeof time};
    const tutti_event init = {sizeof init, TUTTI_EVENT_INIT, "init", 0, &time, &time};
    const tutti_event start = {sizeof start, TUTTI_EVENT_FIT_START, "fit_start", 0, &time,
                               &time};
    int64_t exit_code = TUTTI_EXIT_NONE;
    test_settings_init(&g);
    test_settings_float(&g, "latent_channels", latent);
    test_settings_int(&g, "min_channels", 16);
    memset(&err, 0, sizeof err);
    told[0] = '\0';
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "squeeze_excite", &g,
                              services, &err),
                 err);
    ck_assert_int_eq(s.calls->match(s.self, &start), 0);
    ck_assert_int_eq(s.calls->match(s.self, &init), 1);
    const tutti_status status = s.calls->apply(s.self, &init, &exit_code, &err);
    subject_close(&s);
    return status;
}

START_TEST(wide_convolutions_get_a_block_once)
{
    tree_init(&t);
    const tutti_module wide = add_conv(16, 32), into = add_conv(15, 32), out = add_conv(32, 8);
    ck_assert_ok(run(0.125), err);
    ck_assert_str_eq(told, "squeeze_excite/num_squeeze_excite_layers=1\n"
                           "[1] squeeze_excite put a block behind 1 convolutions\n");
    ck_assert_uint_eq(t.modules[into].parent, 1);
    ck_assert_uint_eq(t.modules[out].parent, 1);
    const tree_module *block = &t.modules[out + 1];
    ck_assert_str_eq(block->kind, "squeeze_excite_conv2d");
    ck_assert_uint_eq(block->parent, 1);
    ck_assert_int_eq(tutti_param_i64(&block->given.params, "channels"), 32);
    ck_assert_int_eq(tutti_param_i64(&block->given.params, "latent_channels"), 4);
    ck_assert_uint_eq(t.modules[wide].parent, out + 1);
    ck_assert_str_eq(t.modules[wide].name, "conv");
    ck_assert_ok(run(64), err); /* twice is once */
    ck_assert_str_eq(told, "squeeze_excite/num_squeeze_excite_layers=0\n"
                           "[2] squeeze_excite has no effect: no convolution has min_channels "
                           "channels\n");
}
END_TEST

START_TEST(no_hidden_channel_is_refused)
{
    tree_init(&t);
    (void)add_conv(16, 16);
    ck_assert_int_eq(run(0.05), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "squeeze_excite: latent_channels 0.05 leaves no channel of the "
                               "16 of conv");
}
END_TEST

START_TEST(the_block_weighs_channels)
{
    const tutti_desc shape = {{2, 8, 8, 16}, 4, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    test_settings_init(&g);
    test_settings_int(&g, "channels", 16);
    test_settings_int(&g, "latent_channels", 4);
    memset(&err, 0, sizeof err);
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LAYER, "squeeze_excite_conv2d", &g,
                              services, &err),
                 err);
    const tutti_layer_v1 *layer = subject_query(&s, TUTTI_LAYER_V1);
    tree_init(&t);
    const tutti_module m = tree_new(&t, "squeeze_excite_conv2d");
    ck_assert_ok(layer->build(s.self, m, &err), err);
    ck_assert_uint_eq(t.modules[m].nweights, 2);
    ck_assert_int_eq(t.modules[m].weights[0].desc.dim[0], 4);
    ck_assert_int_eq(t.modules[m].weights[1].desc.dim[0], 16);
    ck_assert_close(t.modules[m].weights[0].init.b, 0.25, 0.0);
    ck_assert_close(t.modules[m].weights[1].init.b, 0.5, 0.0);
    const tutti_module conv = tree_new(&t, "conv2d");
    ck_assert_ok(tree_add(&t, m, "conv", conv, &err), err);
    record_init(&r, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(layer->trace(s.self, &r.graph, m, &in, 1, &out, 1), TUTTI_OK);
    record_add(&r, "v%u\n", out);
    ck_assert_str_eq(r.text, "v2 = module 3(v1)\n"
                             "v3 = mean(v2; axes=[1, 2], keepdim=0)\n"
                             "v4 = matmul(v3, squeeze; transpose_a=0, transpose_b=1)\n"
                             "v5 = relu(v4)\n"
                             "v6 = matmul(v5, excite; transpose_a=0, transpose_b=1)\n"
                             "v7 = sigmoid(v6)\n"
                             "v8 = reshape(v7; shape=[2, 1, 1, 16])\n"
                             "v9 = mul(v2, v8)\nv9\n");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("squeeze_excite");
    TCase *c = tcase_create("squeeze_excite");
    tcase_add_test(c, wide_convolutions_get_a_block_once);
    tcase_add_test(c, no_hidden_channel_is_refused);
    tcase_add_test(c, the_block_weighs_channels);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
