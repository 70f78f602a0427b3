/* nn_test.c - the weights that layers declare, and the operations that they emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_check.h"

#include <stdio.h>

static tree t;
static record r;
static subject s;
static test_settings g;
static tutti_error err;
static const tutti_layer_v1 *layer;
static tutti_module m;

static void start(void)
{
    tree_init(&t);
    test_settings_init(&g);
    memset(&err, 0, sizeof err);
}

static void open_layer(const char *kind)
{
    static service services[2];
    services[0] = (service){TUTTI_MODULE_V1, &t.table};
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, services, &err),
                 err);
    layer = subject_query(&s, TUTTI_LAYER_V1);
    m = tree_new(&t, kind);
    ck_assert_ok(layer->build(s.self, m, &err), err);
}

/* Traces the layer once and compares what it emits; the last line names its result. */
static void emits(int32_t mode, const char *want)
{
    const tutti_desc shape = {{2, 8, 8, 4}, 4, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    record_init(&r, mode, shape);
    ck_assert_int_eq(layer->trace(s.self, &r.graph, m, &in, 1, &out, 1), TUTTI_OK);
    record_add(&r, "v%u\n", out);
    ck_assert_str_eq(r.text, want);
}

static void given_conv(int64_t groups, int bias, const char *init)
{
    test_settings_int(&g, "in_channels", 4);
    test_settings_int(&g, "out_channels", 6);
    test_settings_int(&g, "kernel_size", 3);
    test_settings_int(&g, "stride", 2);
    test_settings_int(&g, "padding", 1);
    test_settings_int(&g, "dilation", 1);
    test_settings_int(&g, "groups", groups);
    test_settings_bool(&g, "bias", bias);
    test_settings_enum(&g, "init", init, 0);
}

START_TEST(conv2d_is_a_convolution_with_pytorchs_start)
{
    start();
    given_conv(2, 1, "default");
    open_layer("conv2d");
    const tree_weight *w = t.modules[m].weights;
    const tutti_desc want = {{6, 3, 3, 2}, 4, TUTTI_F32};
    const double bound = 1.0 / sqrt(3 * 3 * 2);
    ck_assert_uint_eq(t.modules[m].nweights, 2);
    ck_assert_str_eq(w[0].name, "weight");
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_uint_eq(w[0].flags, TUTTI_WEIGHT_TRAINABLE);
    ck_assert_str_eq(w[1].name, "bias");
    ck_assert_int_eq(w[1].desc.rank, 1);
    ck_assert_int_eq(w[1].desc.dim[0], 6);
    ck_assert_uint_eq(w[1].flags, TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(w[k].init.kind, TUTTI_INIT_UNIFORM);
        ck_assert_close(w[k].init.a, -bound, 1e-15);
        ck_assert_close(w[k].init.b, bound, 1e-15);
    }
    emits(TUTTI_MODE_TRAIN, "v2 = conv2d(v1, weight, bias; stride=[2, 2], padding=[1, 1], "
                            "dilation=[1, 1], groups=2)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(conv2d_can_start_as_he_says_and_without_bias)
{
    start();
    given_conv(1, 0, "kaiming_normal");
    open_layer("conv2d");
    const tree_weight *w = t.modules[m].weights;
    ck_assert_uint_eq(t.modules[m].nweights, 1);
    ck_assert_int_eq(w->init.kind, TUTTI_INIT_KAIMING_NORMAL);
    ck_assert_close(w->init.a, sqrt(2.0), 1e-15);
    ck_assert_close(w->init.fan, 3 * 3 * 6, 0);
    emits(TUTTI_MODE_EVAL, "v2 = conv2d(v1, weight; stride=[2, 2], padding=[1, 1], "
                           "dilation=[1, 1], groups=1)\nv2\n");
    subject_close(&s);
}
END_TEST

/* The tree's own keeps no data of a weight: this does. */
static float first_values[6 * 3 * 3 * 4];
static tutti_status keep_values(void *ctx, tutti_module at, const char *name,
                                const tutti_desc *desc, const tutti_init *init, uint32_t flags,
                                tutti_error *ret_err)
{
    if (init->kind == TUTTI_INIT_DATA) {
        ck_assert_uint_le(tutti_nbytes(desc), sizeof first_values);
        memcpy(first_values, init->data, tutti_nbytes(desc));
    }
    return tree_weight_new(ctx, at, name, desc, init, flags, ret_err);
}

/* 4 channels in and 6 out, in one group or in two of 2 and 3. */
START_TEST(conv2d_can_start_as_the_identity)
{
    const int64_t groups = _i + 1, in = 4 / groups, share = 6 / groups;
    start();
    t.table.weight = keep_values;
    given_conv(groups, 1, "dirac");
    open_layer("conv2d");
    const tree_weight *w = t.modules[m].weights;
    ck_assert_int_eq(w[0].init.kind, TUTTI_INIT_DATA);
    ck_assert_uint_eq(w[0].flags, TUTTI_WEIGHT_TRAINABLE);
    ck_assert_int_eq(w[1].init.kind, TUTTI_INIT_CONSTANT);
    ck_assert_close(w[1].init.a, 0, 0);
    for (int64_t k = 0; k < 6; k++) {
        const float *filter = first_values + k * 9 * in;
        double sum = 0, bound = 0;
        for (int64_t j = 0; j < 9 * in; j++) {
            sum += (double)fabsf(filter[j]);
            bound = fmax(bound, (double)fabsf(filter[j]));
        }
        if (k % share < in) {
            ck_assert_close(filter[4 * in + k % share], 1, 0);
            ck_assert_close(sum, 1, 0);
        } else {
            ck_assert_double_le(bound, 1 / sqrt(9.0 * (double)in));
            ck_assert_double_gt(sum, 9 * (double)in * 0.3 / sqrt(9.0 * (double)in));
        }
    }
    subject_close(&s);
}
END_TEST

START_TEST(channels_that_do_not_divide_are_refused)
{
    start();
    given_conv(3, 1, "default");
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "conv2d", &g, TUTTI_E_ARG,
                           "conv2d: 4 channels in and 6 out do not divide into 3 groups");
}
END_TEST

/* PyTorch's fan of a transposed convolution: the output's channels times the window. */
START_TEST(conv_transpose2d_is_a_product_whose_columns_are_pixels)
{
    start();
    test_settings_int(&g, "in_channels", 4);
    test_settings_int(&g, "out_channels", 6);
    test_settings_int(&g, "kernel_size", 2);
    test_settings_bool(&g, "bias", 1);
    open_layer("conv_transpose2d");
    const tree_weight *w = t.modules[m].weights;
    const tutti_desc want = {{4, 2, 2, 6}, 4, TUTTI_F32};
    ck_assert_uint_eq(t.modules[m].nweights, 2);
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_int_eq(w[1].desc.dim[0], 6);
    for (int k = 0; k < 2; k++)
        ck_assert_close(w[k].init.b, 1.0 / sqrt(2 * 2 * 6), 1e-15);
    emits(TUTTI_MODE_TRAIN, "v2 = reshape(weight; shape=[4, 24])\n"
                            "v3 = matmul(v1, v2; transpose_a=0, transpose_b=0)\n"
                            "v4 = reshape(v3; shape=[2, 8, 8, 2, 2, 6])\n"
                            "v5 = permute(v4; order=[0, 1, 3, 2, 4, 5])\n"
                            "v6 = reshape(v5; shape=[2, 16, 16, 6])\n"
                            "v7 = add(v6, bias)\n"
                            "v7\n");
    subject_close(&s);
}
END_TEST

START_TEST(upsample2d_is_two_products_with_shares_of_pixels)
{
    start();
    test_settings_int(&g, "scale_factor", 2);
    test_settings_enum(&g, "mode", "bilinear", 1);
    test_settings_bool(&g, "align_corners", 0);
    open_layer("upsample2d");
    emits(TUTTI_MODE_TRAIN, "v2 = reshape(v1; shape=[2, 8, 32])\n"
                            "v3 = matmul(constant, v2; transpose_a=0, transpose_b=0)\n"
                            "v4 = reshape(v3; shape=[32, 8, 4])\n"
                            "v5 = matmul(constant, v4; transpose_a=0, transpose_b=0)\n"
                            "v6 = reshape(v5; shape=[2, 16, 16, 4])\n"
                            "v6\n");
    subject_close(&s);
}
END_TEST

START_TEST(linear_is_a_product_with_the_transpose)
{
    start();
    test_settings_int(&g, "in_features", 16);
    test_settings_int(&g, "out_features", 5);
    test_settings_bool(&g, "bias", 1);
    test_settings_enum(&g, "init", "default", 0);
    open_layer("linear");
    const tree_weight *w = t.modules[m].weights;
    const tutti_desc want = {{5, 16}, 2, TUTTI_F32};
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_close(w[0].init.b, 0.25, 1e-15);
    ck_assert_close(w[1].init.b, 0.25, 1e-15);
    emits(TUTTI_MODE_TRAIN,
          "v2 = matmul(v1, weight, bias; transpose_a=0, transpose_b=1)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(a_transposed_linear_layer_stores_its_weight_the_other_way)
{
    start();
    test_settings_int(&g, "in_features", 16);
    test_settings_int(&g, "out_features", 5);
    test_settings_bool(&g, "transposed", 1);
    test_settings_bool(&g, "bias", 1);
    test_settings_enum(&g, "init", "normal", 2);
    test_settings_float(&g, "std", 0.3);
    open_layer("linear");
    const tree_weight *w = t.modules[m].weights;
    const tutti_desc want = {{16, 5}, 2, TUTTI_F32}, row = {{5}, 1, TUTTI_F32};
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_int_eq(w[0].init.kind, TUTTI_INIT_NORMAL);
    ck_assert_close(w[0].init.a, 0.0, 0.0);
    ck_assert_close(w[0].init.b, 0.3, 0.0);
    ck_assert(tutti_same_shape(&w[1].desc, &row));
    ck_assert_int_eq(w[1].init.kind, TUTTI_INIT_CONSTANT);
    ck_assert_close(w[1].init.a, 0.0, 0.0);
    emits(TUTTI_MODE_TRAIN,
          "v2 = matmul(v1, weight, bias; transpose_a=0, transpose_b=0)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(batch_norm2d_moves_its_statistics_in_training_only)
{
    start();
    test_settings_int(&g, "num_features", 4);
    test_settings_float(&g, "eps", 1e-5);
    test_settings_float(&g, "momentum", 0.1);
    open_layer("batch_norm2d");
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    const tree_weight *w = t.modules[m].weights;
    ck_assert_uint_eq(t.modules[m].nweights, 4);
    for (int k = 0; k < 4; k++) {
        ck_assert_str_eq(w[k].name, names[k]);
        ck_assert_int_eq(w[k].init.kind, TUTTI_INIT_CONSTANT);
        ck_assert_close(w[k].init.a, k == 0 || k == 3, 0);
        ck_assert_uint_eq(w[k].flags,
                          k < 2 ? TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY : 0);
    }
    emits(TUTTI_MODE_TRAIN, "v2 = batch_norm(v1, weight, bias, running_mean, running_var; "
                            "eps=1e-05, momentum=0.1)\n"
                            "running_mean <- v5\nrunning_var <- v6\nv2\n");
    emits(TUTTI_MODE_EVAL, "v2 = batch_norm_eval(v1, weight, bias, running_mean, running_var; "
                           "eps=1e-05)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(batch_norm2d_may_start_with_a_scale_of_zero)
{
    for (int zero = 0; zero < 2; zero++) {
        start();
        test_settings_int(&g, "num_features", 4);
        test_settings_float(&g, "eps", 1e-5);
        test_settings_float(&g, "momentum", 0.1);
        test_settings_enum(&g, "init", zero ? "zero" : "one", zero);
        open_layer("batch_norm2d");
        ck_assert_close(t.modules[m].weights[0].init.a, !zero, 0);
        ck_assert_close(t.modules[m].weights[3].init.a, 1, 0);
        subject_close(&s);
    }
}
END_TEST

static const char *const activations[] = {"relu", "gelu", "tanh", "sigmoid", "silu"};

START_TEST(an_activation_is_the_operation_of_its_name)
{
    char want[64];
    start();
    open_layer(activations[_i]);
    (void)snprintf(want, sizeof want, "v2 = %s(v1)\nv2\n", activations[_i]);
    emits(TUTTI_MODE_TRAIN, want);
    subject_close(&s);
}
END_TEST

static const char *const pools[] = {"max_pool2d", "avg_pool2d"};

START_TEST(gelu_has_a_form_with_tanh)
{
    start();
    test_settings_enum(&g, "approximate", "tanh", 1);
    open_layer("gelu");
    emits(TUTTI_MODE_TRAIN, "v2 = gelu(v1; approximate=1)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(pooling_steps_by_its_window_unless_told)
{
    char want[160];
    start();
    test_settings_int(&g, "kernel_size", 3);
    test_settings_int(&g, "padding", 1);
    if (_i / 2)
        test_settings_int(&g, "stride", 2);
    else
        test_settings_null(&g, "stride");
    open_layer(pools[_i % 2]);
    (void)snprintf(want, sizeof want,
                   "v2 = %s(v1; kernel=[3, 3], stride=[%d, %d], padding=[1, 1])\nv2\n",
                   pools[_i % 2], _i / 2 ? 2 : 3, _i / 2 ? 2 : 3);
    emits(TUTTI_MODE_TRAIN, want);
    subject_close(&s);
}
END_TEST

START_TEST(shapes_change_as_said)
{
    start();
    open_layer("global_avg_pool");
    emits(TUTTI_MODE_TRAIN, "v2 = mean(v1; axes=[1, 2], keepdim=0)\nv2\n");
    subject_close(&s);
    open_layer("flatten");
    emits(TUTTI_MODE_TRAIN, "v2 = reshape(v1; shape=[2, -1])\nv2\n");
    subject_close(&s);
    open_layer("identity");
    emits(TUTTI_MODE_TRAIN, "v1\n");
    subject_close(&s);
}
END_TEST

START_TEST(dropout_works_in_training_only_with_a_stream_of_its_place)
{
    char want[80];
    start();
    test_settings_float(&g, "p", 0.25);
    open_layer("dropout");
    (void)snprintf(want, sizeof want, "v2 = dropout(v1; p=0.25, stream=%u)\nv2\n", m);
    emits(TUTTI_MODE_TRAIN, want);
    emits(TUTTI_MODE_EVAL, "v1\n");
    subject_close(&s);
}
END_TEST

START_TEST(sequential_runs_its_children_in_order)
{
    start();
    open_layer("sequential");
    emits(TUTTI_MODE_TRAIN, "v1\n");
    ck_assert_ok(tree_add(&t, m, "a", tree_new(&t, "x"), &err), err);
    ck_assert_ok(tree_add(&t, m, "b", tree_new(&t, "x"), &err), err);
    emits(TUTTI_MODE_TRAIN, "v2 = module 3(v1)\nv3 = module 4(v2)\nv3\n");
    subject_close(&s);
}
END_TEST

START_TEST(group_norm_has_a_scale_and_a_shift_for_each_channel)
{
    start();
    test_settings_int(&g, "num_channels", 12);
    test_settings_int(&g, "num_groups", 3);
    test_settings_float(&g, "eps", 1e-6);
    open_layer("group_norm");
    ck_assert_uint_eq(t.modules[m].nweights, 2);
    ck_assert_int_eq(t.modules[m].weights[0].desc.dim[0], 12);
    emits(TUTTI_MODE_TRAIN, "v2 = group_norm(v1, weight, bias; eps=1e-06, groups=3)\nv2\n");
    subject_close(&s);
    start();
    test_settings_int(&g, "num_channels", 12);
    test_settings_int(&g, "num_groups", 5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "group_norm", &g, TUTTI_E_ARG,
                           "group_norm: num_channels 12 do not divide into 5 groups");
}
END_TEST

START_TEST(layer_norm_starts_as_ones_and_zeros)
{
    start();
    test_settings_int(&g, "num_features", 4);
    test_settings_float(&g, "eps", 1e-6);
    open_layer("layer_norm");
    const tree_weight *w = t.modules[m].weights;
    ck_assert_uint_eq(t.modules[m].nweights, 2);
    for (int k = 0; k < 2; k++) {
        ck_assert_str_eq(w[k].name, k ? "bias" : "weight");
        ck_assert_int_eq(w[k].desc.dim[0], 4);
        ck_assert_int_eq(w[k].init.kind, TUTTI_INIT_CONSTANT);
        ck_assert_close(w[k].init.a, 1 - k, 0);
        ck_assert_uint_eq(w[k].flags, TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY);
    }
    emits(TUTTI_MODE_TRAIN, "v2 = layer_norm(v1, weight, bias; eps=1e-06)\nv2\n");
    subject_close(&s);
}
END_TEST

START_TEST(an_embedding_looks_rows_up)
{
    start();
    test_settings_int(&g, "num_embeddings", 65);
    test_settings_int(&g, "embedding_dim", 8);
    test_settings_float(&g, "std", 0.02);
    open_layer("embedding");
    const tree_weight *w = t.modules[m].weights;
    const tutti_desc want = {{65, 8}, 2, TUTTI_F32};
    ck_assert(tutti_same_shape(&w->desc, &want));
    ck_assert_int_eq(w->init.kind, TUTTI_INIT_NORMAL);
    ck_assert_close(w->init.b, 0.02, 0);
    ck_assert_uint_eq(w->flags, TUTTI_WEIGHT_TRAINABLE);
    emits(TUTTI_MODE_TRAIN, "v2 = gather(weight, v1; axis=0)\nv2\n");
    subject_close(&s);
}
END_TEST

/* ---- self-attention: 4 heads of 3 out of 12, over (2, 3, 12) ---- */

static void open_attention(const char *kind, double dropout, int alibi)
{
    start();
    test_settings_int(&g, "embed_dim", 12);
    test_settings_int(&g, "num_heads", 4);
    test_settings_float(&g, "dropout", dropout);
    test_settings_bool(&g, "bias", 1);
    test_settings_bool(&g, "alibi", alibi);
    test_settings_float(&g, "std", 0.02);
    test_settings_null(&g, "proj_std");
    open_layer(kind);
}

static const char *attends(int32_t mode, uint32_t nin)
{
    const tutti_desc shape = {{2, 3, 12}, 3, TUTTI_F32};
    const tutti_value in[2] = {1, 1};
    tutti_value out = 0;
    record_init(&r, mode, shape);
    ck_assert_int_eq(layer->trace(s.self, &r.graph, m, in, nin, &out, 1), TUTTI_OK);
    record_add(&r, "v%u\n", out);
    return r.text;
}

START_TEST(attention_reads_queries_keys_and_values_side_by_side)
{
    open_attention(_i ? "causal_self_attention" : "self_attention", 0.1, 0);
    char want[400];
    ck_assert_str_eq(t.modules[3].kind, "linear");
    ck_assert_str_eq(t.modules[3].name, "c_attn");
    ck_assert_str_eq(t.modules[4].name, "c_proj");
    ck_assert_int_eq(tutti_param_i64(&t.modules[3].given.params, "out_features"), 36);
    ck_assert_int_eq(tutti_param_i64(&t.modules[3].given.params, "transposed"), 1);
    (void)snprintf(want, sizeof want,
                   "v2 = module 3(v1)\n"
                   "v3 = reshape(v2; shape=[2, 3, 3, 4, 3])\n"
                   "v4 = sdpa_packed(v3; causal=%d)\n"
                   "v5 = reshape(v4; shape=[2, 3, 12])\n"
                   "v6 = module 4(v5)\nv6\n",
                   _i);
    ck_assert_str_eq(attends(TUTTI_MODE_EVAL, 1), want);
    subject_close(&s);
}
END_TEST

START_TEST(attention_adds_its_second_input_to_the_scores)
{
    open_attention("self_attention", 0.0, 0);
    ck_assert_ptr_nonnull(
        strstr(attends(TUTTI_MODE_TRAIN, 2), "v4 = sdpa_packed(v3, v1; causal=0)\n"));
    subject_close(&s);
}
END_TEST

/* Slopes of four heads: 1/4, 1/16, 1/64, 1/256; of key 0 two steps before the last. */
START_TEST(alibi_lets_scores_fall_with_the_distance)
{
    open_attention("causal_self_attention", 0.0, 1);
    ck_assert_ptr_nonnull(
        strstr(attends(TUTTI_MODE_TRAIN, 1), "v4 = sdpa_packed(v3, constant; causal=1)\n"));
    const tutti_desc want = {{4, 1, 3}, 3, TUTTI_F32};
    ck_assert(tutti_same_shape(&r.constant_desc, &want));
    for (int h = 0; h < 4; h++)
        for (int j = 0; j < 3; j++)
            ck_assert_close(r.constant[3 * h + j], pow(4.0, -1.0 - h) * (j - 2), 1e-9);
    subject_close(&s);
}
END_TEST

/* Where queries see keys on both sides, the distance counts on both. */
START_TEST(alibi_of_heads_counts_the_distance_on_both_sides)
{
    start();
    test_settings_int(&g, "num_heads", 2);
    test_settings_bool(&g, "alibi", 1);
    open_layer("attention_heads");
    ck_assert_ptr_nonnull(
        strstr(attends(TUTTI_MODE_EVAL, 1), "sdpa_packed(v2, constant; causal=0)\n"));
    const tutti_desc want = {{2, 3, 3}, 3, TUTTI_F32};
    ck_assert(tutti_same_shape(&r.constant_desc, &want));
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                ck_assert_close(r.constant[9 * h + 3 * i + j],
                                -pow(16.0, -1.0 - h) * abs(i - j), 1e-9);
    subject_close(&s);
}
END_TEST

START_TEST(probabilities_are_dropped_in_training_alone)
{
    open_attention("causal_self_attention", 0.1, 0);
    ck_assert_ptr_nonnull(strstr(attends(TUTTI_MODE_TRAIN, 1),
                                 "v4 = sdpa_packed(v3; causal=1, dropout=0.1, stream=2)\n"));
    ck_assert_ptr_nonnull(
        strstr(attends(TUTTI_MODE_EVAL, 1), "v4 = sdpa_packed(v3; causal=1)\n"));
    subject_close(&s);
}
END_TEST

START_TEST(heads_attend_without_products_of_their_own)
{
    start();
    test_settings_int(&g, "num_heads", 2);
    test_settings_float(&g, "dropout", 0.1);
    open_layer("attention_heads");
    ck_assert_uint_eq(t.count, 2); /* no modules below */
    ck_assert_str_eq(attends(TUTTI_MODE_EVAL, 2), "v2 = reshape(v1; shape=[2, 3, 3, 2, 2])\n"
                                                  "v3 = sdpa_packed(v2, v1; causal=0)\n"
                                                  "v4 = reshape(v3; shape=[2, 3, 4])\nv4\n");
    ck_assert_ptr_nonnull(strstr(attends(TUTTI_MODE_TRAIN, 1), "dropout=0.1, stream=2)\n"));
    subject_close(&s);
    start();
    test_settings_int(&g, "num_heads", 3);
    test_settings_float(&g, "dropout", 0.0);
    open_layer("attention_heads");
    const tutti_desc shape = {{2, 3, 12}, 3, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    record_init(&r, TUTTI_MODE_EVAL, shape);
    ck_assert_int_eq(layer->trace(s.self, &r.graph, m, &in, 1, &out, 1), TUTTI_E_SHAPE);
    ck_assert_str_eq(r.text,
                     "failed: attention_heads: the input must be (B, T, 3 C), with heads "
                     "that divide C\n");
    subject_close(&s);
}
END_TEST

START_TEST(heads_that_do_not_divide_the_width_are_refused)
{
    start();
    test_settings_int(&g, "embed_dim", 12);
    test_settings_int(&g, "num_heads", 5);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "self_attention", &g, TUTTI_E_ARG,
                           "self-attention: embed_dim 12 does not divide into 5 heads");
}
END_TEST

/* ---- grouped_query_attention: 4 heads of queries and 2 of keys, of 6 numbers, over (2, 3, 12) ---- */

static void given_grouped_query(int64_t kv_heads, const char *rope_type, int64_t index)
{
    start();
    test_settings_int(&g, "embed_dim", 12);
    test_settings_int(&g, "num_heads", 4);
    test_settings_int(&g, "num_key_value_heads", kv_heads);
    test_settings_int(&g, "head_dim", 6);
    test_settings_bool(&g, "bias", 1);
    test_settings_bool(&g, "out_bias", 0);
    test_settings_bool(&g, "qk_norm", 1);
    test_settings_float(&g, "eps", 1e-6);
    test_settings_float(&g, "rope_theta", 10000.0);
    test_settings_enum(&g, "rope_type", rope_type, index);
    test_settings_float(&g, "rope_factor", 4.0);
    test_settings_float(&g, "low_freq_factor", 1.0);
    test_settings_float(&g, "high_freq_factor", 4.0);
    test_settings_int(&g, "original_max_position_embeddings", 64);
    test_settings_float(&g, "std", 0.02);
    test_settings_null(&g, "proj_std");
}

START_TEST(grouped_queries_share_keys_and_values)
{
    static const char *const names[] = {"q_proj", "k_proj", "v_proj",
                                        "o_proj", "q_norm", "k_norm"};
    static const int64_t outs[] = {24, 12, 12, 12};
    given_grouped_query(2, "default", 0);
    open_layer("grouped_query_attention");
    for (uint32_t k = 0; k < 6; k++) {
        const tree_module *child = &t.modules[m + 1 + k];
        ck_assert_str_eq(child->name, names[k]);
        ck_assert_str_eq(child->kind, k < 4 ? "linear" : "rms_norm");
        if (k < 4) {
            ck_assert_int_eq(tutti_param_i64(&child->given.params, "out_features"), outs[k]);
            ck_assert_int_eq(tutti_param_i64(&child->given.params, "bias"), k < 3);
        }
    }
    ck_assert_str_eq(attends(TUTTI_MODE_TRAIN, 2),
                     "v2 = module 3(v1)\n"
                     "v3 = reshape(v2; shape=[2, 3, 4, 6])\n"
                     "v4 = module 7(v3)\n"
                     "v5 = permute(v4; order=[0, 2, 1, 3])\n"
                     "v6 = module 4(v1)\n"
                     "v7 = reshape(v6; shape=[2, 3, 2, 6])\n"
                     "v8 = module 8(v7)\n"
                     "v9 = permute(v8; order=[0, 2, 1, 3])\n"
                     "v10 = module 5(v1)\n"
                     "v11 = reshape(v10; shape=[2, 3, 2, 6])\n"
                     "v12 = permute(v11; order=[0, 2, 1, 3])\n"
                     "v13 = rope(v5, constant, constant)\n"
                     "v14 = rope(v9, constant, constant)\n"
                     "v15 = reshape(v14; shape=[2, 2, 1, 3, 6])\n"
                     "v16 = broadcast_to(v15; shape=[2, 2, 2, 3, 6])\n"
                     "v17 = reshape(v16; shape=[2, 4, 3, 6])\n"
                     "v18 = reshape(v12; shape=[2, 2, 1, 3, 6])\n"
                     "v19 = broadcast_to(v18; shape=[2, 2, 2, 3, 6])\n"
                     "v20 = reshape(v19; shape=[2, 4, 3, 6])\n"
                     "v21 = sdpa(v13, v17, v20, v1; causal=1)\n"
                     "v22 = permute(v21; order=[0, 2, 1, 3])\n"
                     "v23 = reshape(v22; shape=[2, 3, 24])\n"
                     "v24 = module 6(v23)\nv24\n");
    subject_close(&s);
}
END_TEST

START_TEST(as_many_heads_of_keys_are_not_repeated)
{
    given_grouped_query(4, "default", 0);
    test_settings_bool(&g, "qk_norm", 0);
    open_layer("grouped_query_attention");
    ck_assert_ptr_null(strstr(attends(TUTTI_MODE_EVAL, 1), "broadcast_to"));
    subject_close(&s);
}
END_TEST

/* The sines of position 1, whose angles are the frequencies 1, 10000^(-1/3) and 10000^(-2/3).  Of 64 positions these
 * turn 10.2, 0.473 and 0.0219 times: above high_freq_factor, and below low_freq_factor twice.  With 256, 40.7, 1.89
 * and 0.088 times: the second is between them. */
START_TEST(frequencies_are_scaled_as_the_type_says)
{
    static const char *const types[] = {"default", "linear", "llama3", "llama3"};
    static const int64_t index[] = {0, 1, 2, 2}, original[] = {64, 64, 64, 256};
    const double f1 = pow(10000.0, -1.0 / 3.0),
                 share = (256.0 * f1 / 6.283185307179586 - 1) / 3;
    const double by[4][3] = {
        {1, 1, 1}, {0.25, 0.25, 0.25}, {1, 0.25, 0.25}, {1, share + (1 - share) / 4, 0.25}};
    given_grouped_query(2, types[_i], index[_i]);
    test_settings_int(&g, "original_max_position_embeddings", original[_i]);
    open_layer("grouped_query_attention");
    (void)attends(TUTTI_MODE_EVAL, 1);
    const tutti_desc want = {{3, 3}, 2, TUTTI_F32};
    ck_assert(tutti_same_shape(&r.constant_desc, &want));
    for (int i = 0; i < 3; i++) {
        ck_assert_close(r.constant[i], 0.0, 0.0);
        for (int position = 1; position < 3; position++)
            ck_assert_close(r.constant[3 * position + i],
                            sin(position * pow(10000.0, -i / 3.0) * by[_i][i]), 1e-7);
    }
    subject_close(&s);
}
END_TEST

START_TEST(grouped_heads_that_do_not_fit_are_refused)
{
    given_grouped_query(3, "default", 0);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "grouped_query_attention", &g,
                           TUTTI_E_ARG,
                           "grouped_query_attention: num_heads 4 is no multiple of "
                           "num_key_value_heads 3");
    given_grouped_query(2, "default", 0);
    test_settings_null(&g, "head_dim");
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "grouped_query_attention", &g,
                           TUTTI_E_ARG,
                           "grouped_query_attention: a head has 3 numbers, want an even count; "
                           "set head_dim");
    given_grouped_query(2, "llama3", 2);
    test_settings_float(&g, "low_freq_factor", 4.0);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_LAYER, "grouped_query_attention", &g,
                           TUTTI_E_ARG,
                           "grouped_query_attention: low_freq_factor 4, want less than "
                           "high_freq_factor 4");
}
END_TEST

START_TEST(rms_norm_has_a_scale_that_starts_as_ones)
{
    start();
    test_settings_int(&g, "num_features", 4);
    test_settings_float(&g, "eps", 1e-5);
    open_layer("rms_norm");
    const tree_weight *w = t.modules[m].weights;
    ck_assert_uint_eq(t.modules[m].nweights, 1);
    ck_assert_str_eq(w->name, "weight");
    ck_assert_int_eq(w->init.kind, TUTTI_INIT_CONSTANT);
    ck_assert_close(w->init.a, 1, 0);
    ck_assert_uint_eq(w->flags, TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY);
    emits(TUTTI_MODE_TRAIN, "v2 = rms_norm(v1, weight; eps=1e-05)\nv2\n");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nn");
    TCase *c = tcase_create("all");
    tcase_add_test(c, conv2d_is_a_convolution_with_pytorchs_start);
    tcase_add_test(c, conv2d_can_start_as_he_says_and_without_bias);
    tcase_add_loop_test(c, conv2d_can_start_as_the_identity, 0, 2);
    tcase_add_test(c, channels_that_do_not_divide_are_refused);
    tcase_add_test(c, conv_transpose2d_is_a_product_whose_columns_are_pixels);
    tcase_add_test(c, upsample2d_is_two_products_with_shares_of_pixels);
    tcase_add_test(c, linear_is_a_product_with_the_transpose);
    tcase_add_test(c, batch_norm2d_moves_its_statistics_in_training_only);
    tcase_add_test(c, batch_norm2d_may_start_with_a_scale_of_zero);
    tcase_add_loop_test(c, an_activation_is_the_operation_of_its_name, 0, 5);
    tcase_add_loop_test(c, pooling_steps_by_its_window_unless_told, 0, 4);
    tcase_add_test(c, shapes_change_as_said);
    tcase_add_test(c, dropout_works_in_training_only_with_a_stream_of_its_place);
    tcase_add_test(c, sequential_runs_its_children_in_order);
    tcase_add_test(c, a_transposed_linear_layer_stores_its_weight_the_other_way);
    tcase_add_test(c, gelu_has_a_form_with_tanh);
    tcase_add_test(c, layer_norm_starts_as_ones_and_zeros);
    tcase_add_test(c, group_norm_has_a_scale_and_a_shift_for_each_channel);
    tcase_add_test(c, an_embedding_looks_rows_up);
    tcase_add_loop_test(c, attention_reads_queries_keys_and_values_side_by_side, 0, 2);
    tcase_add_test(c, attention_adds_its_second_input_to_the_scores);
    tcase_add_test(c, alibi_lets_scores_fall_with_the_distance);
    tcase_add_test(c, alibi_of_heads_counts_the_distance_on_both_sides);
    tcase_add_test(c, probabilities_are_dropped_in_training_alone);
    tcase_add_test(c, heads_attend_without_products_of_their_own);
    tcase_add_test(c, heads_that_do_not_divide_the_width_are_refused);
    tcase_add_test(c, grouped_queries_share_keys_and_values);
    tcase_add_test(c, as_many_heads_of_keys_are_not_repeated);
    tcase_add_loop_test(c, frequencies_are_scaled_as_the_type_says, 0, 4);
    tcase_add_test(c, grouped_heads_that_do_not_fit_are_refused);
    tcase_add_test(c, rms_norm_has_a_scale_that_starts_as_ones);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
