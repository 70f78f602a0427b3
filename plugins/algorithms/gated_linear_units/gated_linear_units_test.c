/* gated_linear_units_test.c - which perceptrons are replaced, by what, and what the unit computes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

static theatre o;
static test_settings g;

static void start(const char *act)
{
    theatre_init(&o);
    test_settings_init(&g);
    if (act)
        test_settings_enum(&g, "act_fn", act, 0);
    else
        test_settings_null(&g, "act_fn");
    test_settings_bool(&g, "gated_layer_bias", 0);
    test_settings_bool(&g, "non_gated_layer_bias", 1);
}

static tutti_module below(tutti_module parent, const char *name, const char *kind)
{
    const tutti_module m = tree_new(&o.t, kind);
    ck_assert_ok(tree_add(&o.t, parent, name, m, &o.err), o.err);
    return m;
}

static tutti_module add_layer(const char *act)
{
    const tutti_module m = theatre_add(&o, "bert_layer", NULL);
    const tutti_module wide = below(m, "intermediate", "sequential");
    (void)below(wide, "dense", "linear");
    (void)below(wide, "act", act);
    const tutti_module output = below(m, "output", "bert_output");
    test_settings_int(&o.t.modules[output].given, "hidden_size", 4);
    test_settings_int(&o.t.modules[output].given, "intermediate_size", 6);
    (void)below(output, "dense", "linear");
    const tutti_module norm = below(output, "LayerNorm", "layer_norm");
    test_settings_int(&o.t.modules[norm].given, "num_features", 4);
    test_settings_float(&o.t.modules[norm].given, "eps", 1e-12);
    const tutti_module dropout = below(output, "dropout", "dropout");
    test_settings_float(&o.t.modules[dropout].given, "p", 0.25);
    return m;
}

static const tree_module *part(tutti_module unit, const char *name)
{
    const tutti_module m = tree_child(&o.t, unit, name);
    ck_assert_msg(m != 0, "there is no %s", name);
    return &o.t.modules[m];
}

START_TEST(every_perceptron_becomes_a_unit_once)
{
    start(_i ? "silu" : NULL);
    const tutti_module layer = add_layer("gelu");
    (void)add_layer("gelu");
    ck_assert_ok(theatre_operate(&o, "gated_linear_units", &g), o.err);
    ck_assert_str_eq(o.r.told, "GatedLinearUnits/num_new_modules=2\n");
    ck_assert_str_eq(part(layer, "intermediate")->kind, "identity");
    const tutti_module unit = tree_child(&o.t, layer, "output");
    ck_assert_str_eq(o.t.modules[unit].kind, "bert_gated_output");
    const tutti_params *p = &part(unit, "gated_layer")->given.params;
    ck_assert_int_eq(tutti_param_i64(p, "in_features"), 4);
    ck_assert_int_eq(tutti_param_i64(p, "out_features"), 6);
    ck_assert_int_eq(tutti_param_i64(p, "bias"), 0);
    p = &part(unit, "non_gated_layer")->given.params;
    ck_assert_int_eq(tutti_param_i64(p, "out_features"), 6);
    ck_assert_int_eq(tutti_param_i64(p, "bias"), 1);
    p = &part(unit, "wo")->given.params;
    ck_assert_int_eq(tutti_param_i64(p, "in_features"), 6);
    ck_assert_int_eq(tutti_param_i64(p, "bias"), 1);
    ck_assert_str_eq(part(unit, "act")->kind, _i ? "silu" : "gelu");
    ck_assert_close(tutti_param_f64(&part(unit, "layernorm")->given.params, "eps"), 1e-12, 0.0);
    ck_assert_close(tutti_param_f64(&part(unit, "dropout")->given.params, "p"), 0.25, 0.0);
    ck_assert_ok(theatre_operate(&o, "gated_linear_units", &g), o.err);
    ck_assert_str_eq(o.r.told,
                     "GatedLinearUnits/num_new_modules=0\n"
                     "[2] gated_linear_units has no effect: the model has them already\n");
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    start(NULL);
    ck_assert_int_eq(theatre_operate(&o, "gated_linear_units", &g), TUTTI_E_ARG);
    ck_assert_str_eq(o.err.text,
                     "gated_linear_units: the model is no bert: it has no bert_layer");
    start(NULL);
    (void)add_layer("gelu");
    (void)add_layer("relu");
    ck_assert_int_eq(theatre_operate(&o, "gated_linear_units", &g), TUTTI_E_ARG);
    ck_assert_str_eq(o.err.text,
                     "gated_linear_units: activations are gelu and relu; set act_fn");
}
END_TEST

START_TEST(the_gate_weighs_the_other_product)
{
    static const char *const parts[] = {"gated_layer", "non_gated_layer", "wo",
                                        "act",         "layernorm",       "dropout"};
    const tutti_value in[2] = {1, 1};
    tutti_value out = 0;
    theatre_init(&o);
    const tutti_module m = tree_new(&o.t, "bert_gated_output"); /* 2, its children 3 to 8 */
    for (int k = 0; k < 5 + _i; k++)
        (void)below(m, parts[k], "part");
    const tutti_layer_v1 *layer = theatre_layer(&o, "bert_gated_output", NULL, m);
    record_init(&o.g, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 2, 3, 4));
    ck_assert_int_eq(layer->trace(o.s.self, &o.g.graph, m, in, 2, &out, 1), TUTTI_OK);
    ck_assert_str_eq(o.g.text, _i ? "v2 = module 3(v1)\nv3 = module 6(v2)\n"
                                    "v4 = module 4(v1)\nv5 = mul(v3, v4)\n"
                                    "v6 = module 8(v5)\nv7 = module 5(v6)\n"
                                    "v8 = add(v7, v1)\nv9 = module 7(v8)\n"
                                  : "v2 = module 3(v1)\nv3 = module 6(v2)\n"
                                    "v4 = module 4(v1)\nv5 = mul(v3, v4)\n"
                                    "v6 = module 5(v5)\n"
                                    "v7 = add(v6, v1)\nv8 = module 7(v7)\n");
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gated_linear_units");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, every_perceptron_becomes_a_unit_once, 0, 2);
    tcase_add_test(c, what_cannot_be_is_refused);
    tcase_add_loop_test(c, the_gate_weighs_the_other_product, 0, 2);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
