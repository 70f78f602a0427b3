/* weight_standardization_test.c - which convolutions read standardized weights, and how they are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

#include <stdio.h>

static theatre o;

static void settings(test_settings *g, int64_t ignore)
{
    test_settings_init(g);
    test_settings_int(g, "n_last_layers_ignore", ignore);
}

START_TEST(all_but_the_last_convolutions_have_one_parametrization)
{
    test_settings g;
    tutti_module conv[3];
    theatre_init(&o);
    for (int k = 0; k < 3; k++)
        conv[k] = theatre_add(&o, "conv2d", NULL);
    (void)theatre_add(&o, "linear", NULL);
    settings(&g, _i);
    ck_assert_ok(theatre_operate(&o, "weight_standardization", &g), o.err);
    for (int k = 0; k < 3; k++)
        ck_assert_str_eq(o.t.modules[o.t.modules[conv[k]].by].kind
                             ? o.t.modules[o.t.modules[conv[k]].by].kind
                             : "",
                         k < 3 - _i ? "standardized_filters" : "");
    char want[200];
    (void)snprintf(want, sizeof want, "WeightStandardization/num_weights_standardized=%d\n%s",
                   _i < 3 ? 3 - _i : 0,
                   _i < 3 ? ""
                          : "[2] weight_standardization has no effect: there is no convolution "
                            "that it changes\n");
    ck_assert_str_eq(o.r.told, want);
    const uint32_t before = o.t.count; /* twice is once */
    ck_assert_ok(theatre_operate(&o, "weight_standardization", &g), o.err);
    ck_assert_uint_eq(o.t.count, before);
}
END_TEST

START_TEST(filters_are_centred_and_scaled)
{
    theatre_init(&o);
    const tutti_module m = tree_new(&o.t, "standardized_filters");
    const tutti_layer_v1 *layer = theatre_layer(&o, "standardized_filters", NULL, m);
    ck_assert_str_eq(
        theatre_trace(&o, layer, m, TUTTI_MODE_EVAL, shape(TUTTI_F32, 8, 3, 3, 16)),
        "v2 = mean(v1; axes=[1, 2, 3], keepdim=1)\n"
        "v3 = sub(v1, v2)\n"
        "v4 = mul(v3, v3)\n"
        "v5 = mean(v4; axes=[1, 2, 3], keepdim=1)\n"
        "v6 = affine(v5; scale=1, shift=1e-10)\n"
        "v7 = rsqrt(v6)\n"
        "v8 = mul(v3, v7)\nv8\n");
    subject_close(&o.s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weight_standardization");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, all_but_the_last_convolutions_have_one_parametrization, 0, 5);
    tcase_add_test(c, filters_are_centred_and_scaled);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
