/* bert_test.c - the modules of a BERT with either head, and what they emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include <stdio.h>

static easel e;
static test_settings g;

static void settings(int classifies, double dropout)
{
    test_settings_init(&g);
    test_settings_enum(&g, "head", classifies ? "classification" : "masked_lm", classifies);
    test_settings_null(&g, "vocab_size");
    test_settings_null(&g, "num_labels");
    test_settings_int(&g, "hidden_size", 8);
    test_settings_int(&g, "num_hidden_layers", 2);
    test_settings_int(&g, "num_attention_heads", 2);
    test_settings_null(&g, "intermediate_size");
    test_settings_null(&g, "max_position_embeddings");
    test_settings_int(&g, "type_vocab_size", 2);
    test_settings_float(&g, "dropout", dropout);
    test_settings_int(&g, "position_offset", 0);
    test_settings_float(&g, "layer_norm_eps", 1e-12);
}

/* Builds for sequences of `length` tokens out of 65, with `more` of the columns that may be there. */
static tutti_status build(int classifies, int32_t dtype, int64_t length, uint32_t more)
{
    const tutti_column columns[4] = {
        {"input", {{length}, 1, dtype}, 65},
        {"target", {{classifies ? 0 : length}, !classifies, TUTTI_I32}, classifies ? 3 : 65},
        {"attention_mask", {{length}, 1, TUTTI_U8}, 0},
        {"token_type_ids", {{length}, 1, TUTTI_I32}, 0}};
    return e.table->build(e.subject.self, 1, columns, 2 + more, &e.err);
}

/* Where every value is (4, 8, 8). */
static const char *trace(uint32_t ninputs)
{
    const tutti_desc shape = {{4, 8, 8}, 3, TUTTI_F32};
    const tutti_value in[3] = {1, 1, 1};
    tutti_value out = 0;
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    (void)e.table->trace(e.subject.self, &e.record.graph, 1, in, ninputs, &out, 1);
    return e.record.text;
}

static const char body[] =
    "2<1 bert sequential\n"
    "3<2 embeddings bert_embeddings vocab_size=65 max_position_embeddings=16 "
    "type_vocab_size=2 hidden_size=8 dropout=0.1 position_offset=0 layer_norm_eps=1e-12\n"
    "4<2 encoder sequential\n"
    "5<4 layer sequential\n"
    "6<5 0 bert_layer hidden_size=8 num_attention_heads=2 intermediate_size=32 dropout=0.1 "
    "layer_norm_eps=1e-12\n"
    "7<5 1 bert_layer hidden_size=8 num_attention_heads=2 intermediate_size=32 dropout=0.1 "
    "layer_norm_eps=1e-12\n";

START_TEST(the_names_are_those_of_the_published_files)
{
    static const char *const heads[] = {
        "8<1 cls sequential\n"
        "9<8 predictions bert_predictions vocab_size=65 hidden_size=8 layer_norm_eps=1e-12\n",
        "8<2 pooler sequential\n"
        "9<8 dense linear in_features=8 out_features=8 init=2 std=0.02\n"
        "10<8 activation tanh\n"
        "11<1 dropout dropout p=0.1\n"
        "12<1 classifier linear in_features=8 out_features=3 init=2 std=0.02\n"};
    char want[2048];
    settings(_i, 0.1);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_ok(build(_i, TUTTI_I32, 16, 0), e.err);
    (void)snprintf(want, sizeof want, "%s%s", body, heads[_i]);
    ck_assert_str_eq(easel_tree(&e), want);
    subject_close(&e.subject);
}
END_TEST

START_TEST(tokens_are_asked_of_their_own_table)
{
    settings(0, 0.0);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_ok(build(0, TUTTI_I64, 16, 0), e.err);
    ck_assert_str_eq(e.table->inputs[0], "input");
    ck_assert_ptr_null(e.table->inputs[1]);
    ck_assert_str_eq(trace(1), "v2 = module 3(v1)\n"
                               "v3 = module 6(v2)\n"
                               "v4 = module 7(v3)\n"
                               "v5 = module 9(v4, weight)\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_class_is_asked_of_the_first_token)
{
    settings(1, 0.0);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_ok(build(1, TUTTI_I32, 16, 0), e.err);
    ck_assert_str_eq(trace(1),
                     "v2 = module 3(v1)\n"
                     "v3 = module 6(v2)\n"
                     "v4 = module 7(v3)\n"
                     "v5 = slice(v4; begin=[0, 0, 0], end=[4, 1, 8], stride=[1, 1, 1])\n"
                     "v6 = reshape(v5; shape=[4, 8])\n"
                     "v7 = module 8(v6)\n"
                     "v8 = module 11(v7)\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(types_and_mask_are_inputs_where_the_data_have_them)
{
    settings(0, 0.0);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_ok(build(0, TUTTI_I32, 16, 1), e.err);
    ck_assert_str_eq(e.table->inputs[1], "attention_mask");
    ck_assert_ptr_null(e.table->inputs[2]);
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_ok(build(0, TUTTI_I32, 16, 2), e.err);
    ck_assert_str_eq(e.table->inputs[1], "token_type_ids");
    ck_assert_str_eq(e.table->inputs[2], "attention_mask");
    ck_assert_str_eq(trace(3), "v2 = affine(v1; scale=1e+30, shift=-1e+30)\n"
                               "v3 = reshape(v2; shape=[4, 1, 1, 8])\n"
                               "v4 = module 3(v1, v1)\n"
                               "v5 = module 6(v4, v3)\n"
                               "v6 = module 7(v5, v3)\n"
                               "v7 = module 9(v6, weight)\n");
    subject_close(&e.subject);
}
END_TEST

/* ---- its layers ---- */

static const tutti_layer_v1 *open_layer(const char *kind, double dropout)
{
    memset(&e, 0, sizeof e);
    tree_init(&e.tree);
    e.services[0] = (service){TUTTI_MODULE_V1, &e.tree.table};
    test_settings_init(&g);
    test_settings_int(&g, "vocab_size", 65);
    test_settings_int(&g, "max_position_embeddings", 16);
    test_settings_int(&g, "type_vocab_size", 2);
    test_settings_int(&g, "hidden_size", 8);
    test_settings_int(&g, "num_attention_heads", 2);
    test_settings_int(&g, "intermediate_size", 32);
    test_settings_float(&g, "dropout", dropout);
    test_settings_int(&g, "position_offset", 0);
    test_settings_float(&g, "layer_norm_eps", 1e-12);
    ck_assert_ok(
        subject_open(&e.subject, PLUGIN_PATH, TUTTI_KIND_LAYER, kind, &g, e.services, &e.err),
        e.err);
    return subject_query(&e.subject, TUTTI_LAYER_V1);
}

/* The tree of one layer and what it emits for `nin` inputs (4, 8, 8). */
static void layer(const char *kind, double dropout, uint32_t nin, const char *tree_text,
                  const char *trace_text)
{
    const tutti_desc shape = {{4, 8, 8}, 3, TUTTI_F32};
    const tutti_value in[2] = {1, 1};
    tutti_value out = 0;
    const tutti_layer_v1 *table = open_layer(kind, dropout);
    ck_assert_ok(table->build(e.subject.self, 1, &e.err), e.err);
    ck_assert_str_eq(easel_tree(&e), tree_text);
    record_init(&e.record, TUTTI_MODE_TRAIN, shape);
    ck_assert_int_eq(table->trace(e.subject.self, &e.record.graph, 1, in, nin, &out, 1),
                     TUTTI_OK);
    record_add(&e.record, "v%u\n", out);
    ck_assert_str_eq(e.record.text, trace_text);
}

START_TEST(embeddings_are_added_and_normalised)
{
    static const char tables[] =
        "2<1 word_embeddings embedding num_embeddings=65 embedding_dim=8 std=0.02\n"
        "3<1 position_embeddings embedding num_embeddings=16 embedding_dim=8 std=0.02\n"
        "4<1 token_type_embeddings embedding num_embeddings=2 embedding_dim=8 std=0.02\n"
        "5<1 LayerNorm layer_norm num_features=8 eps=1e-12\n"
        "6<1 dropout dropout p=0.5\n";
    layer("bert_embeddings", 0.5, 1, tables,
          "v2 = module 2(v1)\n"
          "v3 = slice(weight; begin=[0, 0], end=[8, 8], stride=[1, 1])\n"
          "v4 = slice(weight; begin=[0, 0], end=[1, 8], stride=[1, 1])\n"
          "v5 = add(v3, v4)\n"
          "v6 = add(v2, v5)\n"
          "v7 = module 5(v6)\n"
          "v8 = module 6(v7)\n"
          "v8\n");
    subject_close(&e.subject);
    layer("bert_embeddings", 0.5, 2, tables,
          "v2 = module 2(v1)\n"
          "v3 = slice(weight; begin=[0, 0], end=[8, 8], stride=[1, 1])\n"
          "v4 = module 4(v1)\n"
          "v5 = add(v3, v4)\n"
          "v6 = add(v2, v5)\n"
          "v7 = module 5(v6)\n"
          "v8 = module 6(v7)\n"
          "v8\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_layer_normalises_after_its_sums)
{
    layer("bert_layer", 0.0, 2,
          "2<1 attention sequential\n"
          "3<2 self bert_self_attention hidden_size=8 num_attention_heads=2 dropout=0\n"
          "4<2 output bert_output hidden_size=8 intermediate_size=8 dropout=0 "
          "layer_norm_eps=1e-12\n"
          "5<1 intermediate sequential\n"
          "6<5 dense linear in_features=8 out_features=32 init=2 std=0.02\n"
          "7<5 act gelu\n"
          "8<1 output bert_output hidden_size=8 intermediate_size=32 dropout=0 "
          "layer_norm_eps=1e-12\n",
          "v2 = module 3(v1, v1)\n"
          "v3 = module 4(v2, v1)\n"
          "v4 = module 5(v3)\n"
          "v5 = module 8(v4, v3)\n"
          "v5\n");
    subject_close(&e.subject);
    layer("bert_output", 0.25, 2,
          "2<1 dense linear in_features=32 out_features=8 init=2 std=0.02\n"
          "3<1 dropout dropout p=0.25\n"
          "4<1 LayerNorm layer_norm num_features=8 eps=1e-12\n",
          "v2 = module 2(v1)\n"
          "v3 = module 3(v2)\n"
          "v4 = add(v3, v1)\n"
          "v5 = module 4(v4)\n"
          "v5\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(queries_keys_and_values_are_one_product)
{
    const tutti_value in = 1;
    tutti_value out = 0;
    layer("bert_self_attention", 0.1, 2,
          "2<1 query linear in_features=8 out_features=8 init=2 std=0.02\n"
          "3<1 key linear in_features=8 out_features=8 init=2 std=0.02\n"
          "4<1 value linear in_features=8 out_features=8 init=2 std=0.02\n"
          "5<1 heads attention_heads num_heads=2 dropout=0.1\n",
          "v2 = concat(weight, weight, weight; axis=0)\n"
          "v3 = concat(bias, bias, bias; axis=0)\n"
          "v4 = matmul(v1, v2, v3; transpose_a=0, transpose_b=1)\n"
          "v5 = module 5(v4, v1)\n"
          "v5\n");
    e.tree.modules[3].kind = "factorized"; /* as surgery may leave it */
    record_init(&e.record, TUTTI_MODE_TRAIN, e.record.shape);
    const tutti_layer_v1 *table = subject_query(&e.subject, TUTTI_LAYER_V1);
    ck_assert_int_eq(table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_OK);
    ck_assert_str_eq(e.record.text, "v2 = module 2(v1)\n"
                                    "v3 = module 3(v1)\n"
                                    "v4 = module 4(v1)\n"
                                    "v5 = concat(v2, v3, v4; axis=-1)\n"
                                    "v6 = module 5(v5)\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(predictions_are_a_product_with_the_table)
{
    layer("bert_predictions", 0.0, 2,
          "2<1 transform sequential\n"
          "3<2 dense linear in_features=8 out_features=8 init=2 std=0.02\n"
          "4<2 act gelu\n"
          "5<2 LayerNorm layer_norm num_features=8 eps=1e-12\n",
          "v2 = module 2(v1)\n"
          "v3 = matmul(v2, v1, bias; transpose_a=0, transpose_b=1)\n"
          "v3\n");
    const tree_weight *w = e.tree.modules[1].weights;
    const tutti_desc want = {{65}, 1, TUTTI_F32};
    ck_assert_str_eq(w[0].name, "bias");
    ck_assert(tutti_same_shape(&w[0].desc, &want));
    ck_assert_close(w[0].init.a, 0, 0);
    subject_close(&e.subject);
}
END_TEST

/* ---- refusals ---- */

/* Opens with the settings so far, builds and expects this sentence. */
static void refuses(int classifies, int32_t dtype, int64_t length, tutti_status status,
                    const char *sentence)
{
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_int_eq(build(classifies, dtype, length, 0), status);
    ck_assert_error(e.err, status, sentence);
    subject_close(&e.subject);
}

START_TEST(what_does_not_fit_is_refused)
{
    settings(0, 0.0);
    test_settings_int(&g, "num_attention_heads", 3);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_MODEL, "bert", &g, TUTTI_E_ARG,
                           "bert: hidden_size 8 does not divide into 3 attention heads");
    for (int k = 0; k < 2; k++) {
        settings(k, 0.0);
        refuses(k, TUTTI_F32, 8, TUTTI_E_ARG,
                "bert: the input is F32 (8), want tokens (T) of I32 or I64");
        test_settings_int(&g, "max_position_embeddings", 7);
        refuses(k, TUTTI_I32, 8, TUTTI_E_RANGE,
                "bert: max_position_embeddings is 7, the data has sequences of 8");
        test_settings_int(&g, "vocab_size", 60);
        refuses(k, TUTTI_I32, 7, TUTTI_E_RANGE,
                "bert: vocab_size is 60, the data has 65 tokens");
    }
    settings(1, 0.0);
    test_settings_int(&g, "num_labels", 2);
    refuses(1, TUTTI_I32, 8, TUTTI_E_RANGE, "bert: num_labels is 2, the data has 3");
}
END_TEST

START_TEST(columns_of_other_shapes_are_refused)
{
    tutti_column columns[3] = {{"input", {{8}, 1, TUTTI_I32}, 65},
                               {"target", {{0}, 0, TUTTI_I32}, 0},
                               {"attention_mask", {{8, 8}, 2, TUTTI_U8}, 0}};
    settings(1, 0.0);
    ck_assert_ok(easel_open(&e, "bert", &g), e.err);
    ck_assert_int_eq(e.table->build(e.subject.self, 1, columns, 3, &e.err), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "bert: the column attention_mask is U8 (8, 8), want (T)");
    memset(&e.err, 0, sizeof e.err);
    ck_assert_int_eq(e.table->build(e.subject.self, 1, columns, 2, &e.err), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG,
                    "bert: the data does not say how many labels there are; set num_labels");
    memset(&e.err, 0, sizeof e.err);
    columns[1].desc = (tutti_desc){{8}, 1, TUTTI_I32};
    ck_assert_int_eq(e.table->build(e.subject.self, 1, columns, 2, &e.err), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "bert: the target is I32 (8), want one label a sample");
    memset(&e.err, 0, sizeof e.err);
    ck_assert_int_eq(e.table->build(e.subject.self, 1, columns, 1, &e.err), TUTTI_E_NOTFOUND);
    ck_assert_error(e.err, TUTTI_E_NOTFOUND,
                    "bert: the data has no column \"target\", which the model needs");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_sequence_longer_than_the_positions_is_refused)
{
    const tutti_desc shape = {{4, 17, 8}, 3, TUTTI_F32};
    const tutti_value in = 1;
    tutti_value out = 0;
    const tutti_layer_v1 *table = open_layer("bert_embeddings", 0.0);
    record_init(&e.record, TUTTI_MODE_EVAL, shape);
    ck_assert_int_eq(table->trace(e.subject.self, &e.record.graph, 1, &in, 1, &out, 1),
                     TUTTI_E_RANGE);
    ck_assert_str_eq(e.record.text,
                     "failed: bert: a sequence of 17 tokens, max_position_embeddings is 16\n");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bert");
    TCase *c = tcase_create("bert");
    tcase_add_loop_test(c, the_names_are_those_of_the_published_files, 0, 2);
    tcase_add_test(c, tokens_are_asked_of_their_own_table);
    tcase_add_test(c, a_class_is_asked_of_the_first_token);
    tcase_add_test(c, types_and_mask_are_inputs_where_the_data_have_them);
    tcase_add_test(c, embeddings_are_added_and_normalised);
    tcase_add_test(c, a_layer_normalises_after_its_sums);
    tcase_add_test(c, queries_keys_and_values_are_one_product);
    tcase_add_test(c, predictions_are_a_product_with_the_table);
    tcase_add_test(c, what_does_not_fit_is_refused);
    tcase_add_test(c, columns_of_other_shapes_are_refused);
    tcase_add_test(c, a_sequence_longer_than_the_positions_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
