/* llama_test.c - the modules of a Llama, what they are given, and what they emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

/* Settings that the model and its blocks have. */
static void shared_settings(void)
{
    test_settings_int(&g, "hidden_size", 8);
    test_settings_int(&g, "intermediate_size", 12);
    test_settings_int(&g, "num_attention_heads", 4);
    test_settings_int(&g, "num_key_value_heads", 2);
    test_settings_null(&g, "head_dim");
    test_settings_bool(&g, "qkv_bias", 1);
    test_settings_bool(&g, "out_bias", 0);
    test_settings_bool(&g, "mlp_bias", 0);
    test_settings_bool(&g, "qk_norm", 1);
    test_settings_float(&g, "rms_norm_eps", 1e-5);
    test_settings_float(&g, "rope_theta", 5e5);
    test_settings_enum(&g, "rope_type", "llama3", 2);
    test_settings_float(&g, "rope_factor", 8.0);
    test_settings_float(&g, "low_freq_factor", 1.0);
    test_settings_float(&g, "high_freq_factor", 4.0);
    test_settings_int(&g, "original_max_position_embeddings", 64);
    test_settings_float(&g, "initializer_range", 0.02);
}

static void settings(int tied)
{
    test_settings_init(&g);
    test_settings_null(&g, "vocab_size");
    test_settings_int(&g, "num_hidden_layers", 2);
    test_settings_bool(&g, "tie_word_embeddings", tied);
    shared_settings();
}

/* Opens the model, whose settings are also those of the tree's root. */
static void open_model(void)
{
    ck_assert_ok(easel_open(&e, "llama", &g), e.err);
    tree_root_given(&e.tree, &g);
}

static tutti_status build(int32_t dtype, int64_t classes)
{
    const tutti_column columns[2] = {{"input", {{16}, 1, dtype}, 0},
                                     {"target", {{16}, 1, TUTTI_I32}, classes}};
    return e.table->build(e.subject.self, 1, columns, 2, &e.err);
}

#define BLOCK                                                                                  \
    "llama_block hidden_size=8 intermediate_size=12 num_attention_heads=4 "                    \
    "num_key_value_heads=2 qkv_bias=1 out_bias=0 mlp_bias=0 qk_norm=1 rms_norm_eps=1e-05 "     \
    "rope_theta=500000 rope_type=2 rope_factor=8 low_freq_factor=1 high_freq_factor=4 "        \
    "original_max_position_embeddings=64 initializer_range=0.02\n"

START_TEST(the_names_are_those_of_the_published_files)
{
    settings(0);
    open_model();
    ck_assert_ok(build(TUTTI_I32, 65), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 model sequential\n"
                     "3<2 embed_tokens embedding num_embeddings=65 embedding_dim=8 std=0.02\n"
                     "4<2 layers sequential\n"
                     "5<4 0 " BLOCK "6<4 1 " BLOCK
                     "7<2 norm rms_norm num_features=8 eps=1e-05\n"
                     "8<1 lm_head linear in_features=8 out_features=65 bias=0 init=2 "
                     "std=0.02\n");
    ck_assert_ptr_nonnull(strstr(easel_trace(&e), "v2 = module 2(v1)\n"
                                                  "v3 = module 8(v2)\n"
                                                  "v4 = softmax_cross_entropy(v3, v1)\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_tied_head_is_the_token_embedding)
{
    settings(1);
    open_model();
    ck_assert_ok(build(TUTTI_I64, 65), e.err);
    ck_assert_ptr_null(strstr(easel_tree(&e), "lm_head"));
    ck_assert_ptr_nonnull(strstr(easel_trace(&e),
                                 "v2 = module 2(v1)\n"
                                 "v3 = matmul(v2, weight; transpose_a=0, transpose_b=1)\n"));
    subject_close(&e.subject);
}
END_TEST

/* ---- the layers ---- */

static const tutti_layer_v1 *open_layer(const char *kind)
{
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    tree_root_given(&e.tree, &g);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    ck_assert_ok(
        subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, e.services, &e.err),
        e.err);
    const tutti_layer_v1 *layer = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(e.subject.self, 1, &e.err), e.err);
    return layer;
}

static const char *trace_layer(const tutti_layer_v1 *layer)
{
    const tutti_desc shape = {{4, 8, 8}, 3, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(layer->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_OK);
    record_add(&e.record, "v%u\n", out);
    return e.record.text;
}

START_TEST(a_block_adds_attention_and_perceptron_to_its_input)
{
    test_settings_init(&g);
    shared_settings();
    const tutti_layer_v1 *layer = open_layer("llama_block");
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 input_layernorm rms_norm num_features=8 eps=1e-05\n"
                     "3<1 self_attn grouped_query_attention embed_dim=8 num_heads=4 "
                     "num_key_value_heads=2 bias=1 out_bias=0 qk_norm=1 eps=1e-05 "
                     "rope_theta=500000 rope_type=2 rope_factor=8 low_freq_factor=1 "
                     "high_freq_factor=4 original_max_position_embeddings=64 std=0.02\n"
                     "4<1 post_attention_layernorm rms_norm num_features=8 eps=1e-05\n"
                     "5<1 mlp llama_mlp hidden_size=8 intermediate_size=12 bias=0 std=0.02\n");
    ck_assert_str_eq(trace_layer(layer), "v2 = module 2(v1)\n"
                                         "v3 = module 3(v2)\n"
                                         "v4 = add(v1, v3)\n"
                                         "v5 = module 4(v4)\n"
                                         "v6 = module 5(v5)\n"
                                         "v7 = add(v4, v6)\n"
                                         "v7\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_perceptron_is_gated_by_silu)
{
    test_settings_init(&g);
    test_settings_int(&g, "hidden_size", 8);
    test_settings_int(&g, "intermediate_size", 12);
    test_settings_bool(&g, "bias", 1);
    test_settings_float(&g, "std", 0.1);
    const tutti_layer_v1 *layer = open_layer("llama_mlp");
    ck_assert_str_eq(
        easel_tree(&e),
        "2<1 gate_proj linear in_features=8 out_features=12 bias=1 init=2 std=0.1\n"
        "3<1 up_proj linear in_features=8 out_features=12 bias=1 init=2 std=0.1\n"
        "4<1 down_proj linear in_features=12 out_features=8 bias=1 init=2 std=0.1\n");
    ck_assert_str_eq(trace_layer(layer), "v2 = module 2(v1)\n"
                                         "v3 = silu(v2)\n"
                                         "v4 = module 3(v1)\n"
                                         "v5 = mul(v3, v4)\n"
                                         "v6 = module 4(v5)\n"
                                         "v6\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    settings(0);
    test_settings_int(&g, "num_attention_heads", 3);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_MODEL, "llama", &g, TUTTI_E_ARG,
                           "llama: hidden_size 8 does not divide into 3 heads, and head_dim is "
                           "not set");
    settings(0);
    open_model();
    ck_assert_int_eq(build(TUTTI_F32, 65), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG,
                    "llama: the input is F32 (16), want tokens (T) of I32 or I64");
    subject_close(&e.subject);
    test_settings_int(&g, "vocab_size", 60);
    open_model();
    ck_assert_int_eq(build(TUTTI_I32, 65), TUTTI_E_RANGE);
    ck_assert_error(e.err, TUTTI_E_RANGE, "llama: vocab_size is 60, the data has 65 tokens");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("llama");
    TCase *c = tcase_create("llama");
    tcase_add_test(c, the_names_are_those_of_the_published_files);
    tcase_add_test(c, a_tied_head_is_the_token_embedding);
    tcase_add_test(c, a_block_adds_attention_and_perceptron_to_its_input);
    tcase_add_test(c, a_perceptron_is_gated_by_silu);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
