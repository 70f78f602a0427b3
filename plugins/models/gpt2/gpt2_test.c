/* gpt2_test.c - the modules of a GPT-2, how they start, and what they emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(int64_t layers, double dropout, int alibi)
{
    test_settings_init(&g);
    test_settings_null(&g, "vocab_size");
    test_settings_int(&g, "n_layer", layers);
    test_settings_int(&g, "n_head", 2);
    test_settings_int(&g, "n_embd", 8);
    test_settings_null(&g, "block_size");
    test_settings_float(&g, "dropout", dropout);
    test_settings_bool(&g, "alibi", alibi);
}

/* Builds for sequences of `length` tokens out of `classes`. */
static tutti_status build(int32_t dtype, int64_t length, int64_t classes)
{
    const tutti_column columns[2] = {{"input", {{length}, 1, dtype}, 0},
                                     {"target", {{length}, 1, TUTTI_I32}, classes}};
    return e.table->build(e.subject.self, 1, columns, 2, &e.err);
}

START_TEST(the_names_are_those_of_the_published_files)
{
    settings(2, 0.0, 0);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_ok(build(TUTTI_I32, 16, 65), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 wte embedding num_embeddings=65 embedding_dim=8 std=0.02\n"
                     "3<1 wpe embedding num_embeddings=16 embedding_dim=8 std=0.02\n"
                     "4<1 h sequential\n"
                     "5<4 0 gpt2_block embed_dim=8 num_heads=2 dropout=0 alibi=0 std=0.02 "
                     "proj_std=0.01\n"
                     "6<4 1 gpt2_block embed_dim=8 num_heads=2 dropout=0 alibi=0 std=0.02 "
                     "proj_std=0.01\n"
                     "7<1 ln_f layer_norm num_features=8\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(the_head_is_the_token_embedding)
{
    settings(1, 0.0, 0);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_ok(build(TUTTI_I64, 8, 65), e.err);
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = add(v2, weight)\n"
                                      "v4 = module 4(v3)\n"
                                      "v5 = module 6(v4)\n"
                                      "v6 = matmul(v5, weight; transpose_a=0, transpose_b=1)\n"
                                      "v7 = softmax_cross_entropy(v6, v1)\n"
                                      "v8 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v9 = sum(v8; axes=[], keepdim=0)\n"
                                      "v10 = clamp(v9; min=1e-30)\n"
                                      "v11 = sum(v7; axes=[], keepdim=0)\n"
                                      "v12 = div(v11, v10)\n"
                                      "loss v12\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(alibi_has_no_positions_and_dropout_follows_the_embeddings)
{
    settings(1, 0.25, 1);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_ok(build(TUTTI_I32, 8, 65), e.err);
    const char *modules = easel_tree(&e);
    ck_assert_ptr_null(strstr(modules, "wpe"));
    ck_assert_ptr_nonnull(strstr(modules, "3<1 drop dropout p=0.25\n"));
    ck_assert_ptr_nonnull(strstr(modules, "dropout=0.25 alibi=1"));
    subject_close(&e.subject);
}
END_TEST

/* ---- gpt2_block ---- */

static void open_block(double dropout)
{
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "embed_dim", 8);
    test_settings_int(&g, "num_heads", 2);
    test_settings_float(&g, "dropout", dropout);
    test_settings_bool(&g, "alibi", 0);
    test_settings_float(&g, "std", 0.02);
    test_settings_float(&g, "proj_std", 0.01);
    ck_assert_ok(subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, "gpt2_block", &g,
                              e.services, &e.err),
                 e.err);
}

static const char *trace_block(const tutti_layer_v1 *layer)
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
    open_block(0.0);
    const tutti_layer_v1 *layer = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(e.subject.self, 1, &e.err), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 ln_1 layer_norm num_features=8\n"
                     "3<1 attn causal_self_attention embed_dim=8 num_heads=2 dropout=0 alibi=0 "
                     "std=0.02 proj_std=0.01\n"
                     "4<1 ln_2 layer_norm num_features=8\n"
                     "5<1 mlp sequential\n"
                     "6<5 c_fc linear in_features=8 out_features=32 transposed=1 init=2 "
                     "std=0.02\n"
                     "7<5 act gelu approximate=1\n"
                     "8<5 c_proj linear in_features=32 out_features=8 transposed=1 init=2 "
                     "std=0.01\n");
    ck_assert_str_eq(trace_block(layer), "v2 = module 2(v1)\n"
                                         "v3 = module 3(v2)\n"
                                         "v4 = add(v1, v3)\n"
                                         "v5 = module 4(v4)\n"
                                         "v6 = module 5(v5)\n"
                                         "v7 = add(v4, v6)\n"
                                         "v7\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(dropout_follows_both_halves)
{
    open_block(0.1);
    const tutti_layer_v1 *layer = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_ok(layer->build(e.subject.self, 1, &e.err), e.err);
    const char *modules = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(modules, "4<1 drop dropout p=0.1\n"));
    ck_assert_ptr_nonnull(strstr(modules, "10<6 drop dropout p=0.1\n"));
    ck_assert_ptr_nonnull(strstr(trace_block(layer), "v4 = module 4(v3)\nv5 = add(v1, v4)\n"));
    subject_close(&e.subject);
}
END_TEST

/* ---- several documents a row ---- */

static tutti_status build_packed(const char *third, const char *fourth, uint32_t n,
                                 int32_t rank)
{
    tutti_column columns[4] = {{"input", {{8}, 1, TUTTI_I32}, 0},
                               {"target", {{8}, 1, TUTTI_I32}, 65},
                               {"", {{8, 8}, rank, TUTTI_I32}, 0},
                               {"", {{8, 8}, rank, TUTTI_I32}, 0}};
    (void)snprintf(columns[2].name, sizeof columns[2].name, "%s", third);
    (void)snprintf(columns[3].name, sizeof columns[3].name, "%s", fourth);
    settings(1, 0.0, 0);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    return e.table->build(e.subject.self, 1, columns, n, &e.err);
}

START_TEST(documents_of_a_row_are_inputs)
{
    ck_assert_ok(build_packed("position_ids", "document_ids", 4, 1), e.err);
    ck_assert_str_eq(e.table->inputs[0], "input");
    ck_assert_str_eq(e.table->inputs[1], "document_ids");
    ck_assert_str_eq(e.table->inputs[2], "position_ids");
    ck_assert_ptr_null(e.table->inputs[3]);
    subject_close(&e.subject);
    ck_assert_int_eq(build_packed("position_ids", "", 3, 1), TUTTI_E_NOTFOUND);
    ck_assert_error(e.err, TUTTI_E_NOTFOUND,
                    "gpt2: the data have the column position_ids and no document_ids");
    subject_close(&e.subject);
    ck_assert_int_eq(build_packed("document_ids", "", 3, 1), TUTTI_E_NOTFOUND);
    ck_assert_error(e.err, TUTTI_E_NOTFOUND,
                    "gpt2: the data have the column document_ids and no position_ids");
    subject_close(&e.subject);
    ck_assert_int_eq(build_packed("document_ids", "position_ids", 4, 2), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "gpt2: the column document_ids is I32 (8, 8), want (T) of I32 or I64");
    subject_close(&e.subject);
}
END_TEST

/* ---- refusals ---- */

START_TEST(what_does_not_fit_is_refused)
{
    settings(1, 0.0, 0);
    test_settings_int(&g, "n_head", 3);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_MODEL, "gpt2", &g, TUTTI_E_ARG,
                           "gpt2: n_embd 8 does not divide into 3 heads");
    settings(1, 0.0, 0);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_int_eq(build(TUTTI_F32, 8, 65), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG,
                    "gpt2: the input is F32 (8), want tokens (T) of I32 or I64");
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_int_eq(build(TUTTI_I32, 8, 0), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG,
                    "gpt2: the data does not say how many tokens there are; set vocab_size");
    subject_close(&e.subject);
    test_settings_int(&g, "vocab_size", 60);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_int_eq(build(TUTTI_I32, 8, 65), TUTTI_E_RANGE);
    ck_assert_error(e.err, TUTTI_E_RANGE, "gpt2: vocab_size is 60, the data has 65 tokens");
    subject_close(&e.subject);
    settings(1, 0.0, 0);
    test_settings_int(&g, "block_size", 7);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_int_eq(build(TUTTI_I32, 8, 65), TUTTI_E_RANGE);
    ck_assert_error(e.err, TUTTI_E_RANGE, "gpt2: block_size is 7, the data has sequences of 8");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_sequence_longer_than_the_positions_is_refused)
{
    const tutti_desc shape = {{4, 8, 8}, 3, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    settings(1, 0.0, 0);
    ck_assert_ok(easel_open(&e, "gpt2", &g), e.err);
    ck_assert_ok(build(TUTTI_I32, 5, 65), e.err);
    record_init(&e.record, TUTTI_MODE_EVAL, shape);
    ck_assert_int_eq(e.table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_E_RANGE);
    ck_assert_str_eq(e.record.text, "failed: gpt2: a sequence of 8 tokens, block_size is 5\n");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpt2");
    TCase *c = tcase_create("gpt2");
    tcase_add_test(c, the_names_are_those_of_the_published_files);
    tcase_add_test(c, the_head_is_the_token_embedding);
    tcase_add_test(c, alibi_has_no_positions_and_dropout_follows_the_embeddings);
    tcase_add_test(c, a_block_adds_attention_and_perceptron_to_its_input);
    tcase_add_test(c, dropout_follows_both_halves);
    tcase_add_test(c, documents_of_a_row_are_inputs);
    tcase_add_test(c, what_does_not_fit_is_refused);
    tcase_add_test(c, a_sequence_longer_than_the_positions_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
