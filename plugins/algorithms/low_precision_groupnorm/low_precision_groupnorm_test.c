/* low_precision_groupnorm_test.c - which norms are replaced, when, and what they compute. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

#include <stdio.h>

static theatre o;
static test_settings g;
static const char *precision;

static const char *run_precision(void *ctx)
{
    (void)ctx;
    return precision;
}

static void start(const char *apply_at, const char *name)
{
    theatre_init(&o);
    precision = name;
    o.r.tables.state.precision = run_precision;
    test_settings_init(&g);
    test_settings_enum(&g, "apply_at", apply_at, 0);
}

static tutti_module add_norm(void)
{
    const tutti_module m = theatre_add(&o, "group_norm", "eps", 0.001, NULL);
    const tutti_desc row = shape(TUTTI_F32, 8);
    const tutti_init one = {.kind = TUTTI_INIT_CONSTANT, .a = 1.0};
    test_settings_int(&o.t.modules[m].given, "num_channels", 8);
    const tutti_module_v1 *s = &o.t.table;
    ck_assert_ok(s->weight(s->ctx, m, "weight", &row, &one, 1, &o.err), o.err);
    ck_assert_ok(s->weight(s->ctx, m, "bias", &row, &one, 1, &o.err), o.err);
    return m;
}

START_TEST(every_group_norm_is_replaced_and_keeps_its_weights)
{
    start("init", "amp_bf16");
    const tutti_module old = add_norm();
    ck_assert_ok(theatre_operate(&o, "low_precision_groupnorm", &g), o.err);
    ck_assert_str_eq(o.r.told, "LowPrecisionGroupNorm/num_new_modules=1\n");
    const tree_module *next = &o.t.modules[old]; /* built anew where it is */
    ck_assert_uint_eq(next->rebuilt, 1);
    ck_assert_str_eq(next->kind, "low_precision_group_norm");
    ck_assert_str_eq(next->name, "group_norm");
    ck_assert_int_eq(tutti_param_i64(&next->given.params, "num_channels"), 8);
    ck_assert_close(tutti_param_f64(&next->given.params, "eps"), 0.001, 0.0);
    ck_assert_ok(theatre_operate(&o, "low_precision_groupnorm", &g), o.err);
    ck_assert_str_eq(
        o.r.told, "LowPrecisionGroupNorm/num_new_modules=0\n"
                  "[2] low_precision_groupnorm has no effect: the model has no group norm\n");
}
END_TEST

START_TEST(a_precision_of_32_bits_changes_nothing)
{
    start("init", "fp32");
    const tutti_module norm = add_norm();
    ck_assert_ok(theatre_operate(&o, "low_precision_groupnorm", &g), o.err);
    ck_assert_str_eq(o.r.told,
                     "[2] low_precision_groupnorm has no effect: precision is neither "
                     "amp_bf16 nor amp_fp16\n");
    ck_assert_uint_eq(o.t.modules[norm].parent, 1);
}
END_TEST

START_TEST(it_waits_for_its_event)
{
    static const char *const names[] = {"before_load", "after_load"};
    static const int32_t events[] = {TUTTI_EVENT_BEFORE_LOAD, TUTTI_EVENT_AFTER_LOAD};
    start(names[_i], "amp_fp16");
    (void)add_norm();
    ck_assert_ok(subject_open(&o.s, PLUGIN_PATH, TUTTI_KIND_ALGORITHM,
                              "low_precision_groupnorm", &g, o.r.services, &o.err),
                 o.err);
    ck_assert_int_eq(run_event(&o.r, &o.s, TUTTI_EVENT_INIT, &o.err), 0);
    ck_assert_int_eq(run_event(&o.r, &o.s, events[1 - _i], &o.err), 0);
    ck_assert_int_eq(run_event(&o.r, &o.s, events[_i], &o.err), 1);
    subject_close(&o.s);
}
END_TEST

/* Row: precision, and what its dtype is called among the attributes. */
static const struct {
    const char *name;
    int32_t dtype;
} rows[] = {{"amp_bf16", TUTTI_BF16}, {"amp_fp16", TUTTI_F16}};

START_TEST(operands_and_the_result_are_rounded)
{
    char want[400];
    start("init", rows[_i].name);
    test_settings_init(&g);
    test_settings_int(&g, "num_channels", 8);
    test_settings_int(&g, "num_groups", 4);
    test_settings_float(&g, "eps", 0.001);
    const tutti_module m = theatre_add(&o, "low_precision_group_norm", NULL);
    const tutti_layer_v1 *layer = theatre_layer(&o, "low_precision_group_norm", &g, m);
    const int d = rows[_i].dtype;
    (void)snprintf(
        want, sizeof want,
        "v2 = cast(v1; dtype=%d)\nv3 = cast(weight; dtype=%d)\n"
        "v4 = cast(bias; dtype=%d)\nv5 = group_norm(v2, v3, v4; eps=0.001, groups=4)\n"
        "v6 = cast(v5; dtype=%d)\nv7 = cast(v6; dtype=%d)\nv7\n",
        d, d, d, d, TUTTI_F32);
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 4, 8)),
                     want);
    precision = "fp32";
    ck_assert_str_eq(theatre_trace(&o, layer, m, TUTTI_MODE_TRAIN, shape(TUTTI_F32, 4, 8)),
                     "v2 = group_norm(v1, weight, bias; eps=0.001, groups=4)\nv2\n");
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("low_precision_groupnorm");
    TCase *c = tcase_create("all");
    tcase_add_test(c, every_group_norm_is_replaced_and_keeps_its_weights);
    tcase_add_test(c, a_precision_of_32_bits_changes_nothing);
    tcase_add_loop_test(c, it_waits_for_its_event, 0, 2);
    tcase_add_loop_test(c, operands_and_the_result_are_rounded, 0, 2);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
