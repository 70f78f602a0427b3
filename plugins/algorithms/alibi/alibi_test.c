/* alibi_test.c - what surgery changes, and how batches are cut. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

enum { B = 4, S = 8 };

static theatre o;
static test_settings g;
static float table[64];
static int32_t tokens[B * S];

static tutti_status weight_data(void *ctx, tutti_module m, const char *name, tutti_tensor *ret,
                                tutti_error *err)
{
    (void)ctx, (void)m, (void)name, (void)err;
    *ret = (tutti_tensor){table, shape(TUTTI_F32, 16, 4), TUTTI_DEVICE_CPU, 0};
    return TUTTI_OK;
}

static void start(double scaling)
{
    theatre_init(&o);
    o.t.table.weight_data = weight_data;
    test_settings_init(&g);
    test_settings_int(&g, "max_sequence_length", 16);
    test_settings_float(&g, "train_sequence_length_scaling", scaling);
    for (int k = 0; k < 64; k++)
        table[k] = 1.0f;
}

START_TEST(attention_gets_biases_and_positions_become_zeros)
{
    const tutti_attr attr[] = {tutti_attr_i("embed_dim", 4), tutti_attr_i("num_heads", 2),
                               tutti_attr_f("dropout", 0.25), tutti_attr_i("alibi", 0)};
    tutti_module old;
    start(0.25);
    ck_assert_ok(tree_create(&o.t, "causal_self_attention", attr, 4, &old, &o.err), o.err);
    ck_assert_ok(tree_add(&o.t, 1, "attn", old, &o.err), o.err);
    const tutti_module wpe = theatre_add(&o, "embedding", "num_embeddings", 8.0, NULL);
    o.t.modules[wpe].name = "wpe";
    ck_assert_ok(theatre_operate(&o, "alibi", &g), o.err);
    ck_assert_str_eq(o.r.told, "alibi/num_attention_layers=1\n");
    ck_assert_uint_eq(o.t.modules[old].rebuilt, 1); /* what is below it stays */
    const tutti_params *p = &o.t.modules[old].given.params;
    ck_assert_int_eq(tutti_param_i64(p, "alibi"), 1);
    ck_assert_int_eq(tutti_param_i64(p, "num_heads"), 2);
    ck_assert_close(tutti_param_f64(p, "dropout"), 0.25, 0.0);
    const tree_module *zeros = &o.t.modules[wpe];
    ck_assert_uint_eq(zeros->rebuilt, 1);
    ck_assert_int_eq(tutti_param_i64(&zeros->given.params, "num_embeddings"), 16);
    ck_assert_int_eq(zeros->frozen, 1);
    for (int k = 0; k < 64; k++)
        ck_assert_close(table[k], 0.0, 0.0);
    ck_assert_ok(theatre_operate(&o, "alibi", &g), o.err); /* twice is once */
    ck_assert_str_eq(o.r.told,
                     "alibi/num_attention_layers=0\n"
                     "[2] alibi has no effect: the model has no self-attention without it\n");
}
END_TEST

START_TEST(a_bert_loses_its_positions_too)
{
    start(1.0);
    const tutti_module heads = theatre_add(&o, "attention_heads", "num_heads", 2.0, NULL);
    const tutti_module embeddings =
        theatre_add(&o, "bert_embeddings", "max_position_embeddings", 8.0, NULL);
    const tutti_module positions = tree_new(&o.t, "embedding");
    ck_assert_ok(tree_add(&o.t, embeddings, "position_embeddings", positions, &o.err), o.err);
    ck_assert_ok(theatre_operate(&o, "alibi", &g), o.err);
    ck_assert_str_eq(o.r.told, "alibi/num_attention_layers=1\n");
    ck_assert_int_eq(tutti_param_i64(&o.t.modules[heads].given.params, "alibi"), 1);
    ck_assert_int_eq(
        tutti_param_i64(&o.t.modules[embeddings].given.params, "max_position_embeddings"), 16);
    ck_assert_int_eq(tutti_param_i64(&o.t.modules[positions].given.params, "num_embeddings"),
                     16);
    ck_assert_int_eq(o.t.modules[positions].frozen, 1);
}
END_TEST

static int32_t load(double scaling, tutti_desc shape_)
{
    start(scaling);
    for (int k = 0; k < B * S; k++)
        tokens[k] = k;
    run_column(&o.r, "input", shape_, tokens);
    run_column(&o.r, "target", shape_, tokens);
    ck_assert_ok(subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM, "alibi", &g,
                              o.r.services, &o.err),
                 o.err);
    return run_event(&o.r, &o.s, TUTTI_EVENT_AFTER_DATALOADER, &o.err);
}

START_TEST(batches_become_shorter_and_wider)
{
    const tutti_desc want = shape(TUTTI_I32, 16, 2);
    ck_assert_int_eq(load(0.25, shape(TUTTI_I32, B, S)), 1);
    ck_assert_str_eq(o.err.text, "");
    for (int c = 0; c < 2; c++) {
        ck_assert(tutti_same_shape(&o.r.columns[c].desc, &want));
        ck_assert_mem_eq(o.r.columns[c].data, tokens, sizeof tokens);
    }
    subject_close(&o.s);
    ck_assert_int_eq(load(1.0, shape(TUTTI_I32, B, S)), 0);
    subject_close(&o.s);
}
END_TEST

START_TEST(batches_that_do_not_divide_are_refused)
{
    (void)load(0.3, shape(TUTTI_I32, B, S));
    ck_assert_error(o.err, TUTTI_E_SHAPE,
                    "alibi: column 0 is I32 (4, 8), want sequences (B, S) that "
                    "train_sequence_length_scaling 0.3 divides");
    subject_close(&o.s);
    (void)load(0.25, shape(TUTTI_I32, B * S));
    ck_assert_error(o.err, TUTTI_E_SHAPE,
                    "alibi: column 0 is I32 (32), want sequences (B, S) that "
                    "train_sequence_length_scaling 0.25 divides");
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alibi");
    TCase *c = tcase_create("all");
    tcase_add_test(c, attention_gets_biases_and_positions_become_zeros);
    tcase_add_test(c, a_bert_loses_its_positions_too);
    tcase_add_test(c, batches_become_shorter_and_wider);
    tcase_add_test(c, batches_that_do_not_divide_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
