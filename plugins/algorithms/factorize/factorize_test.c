/* factorize_test.c - which layers are split, and into what. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery_check.h"

static theatre o;
static test_settings g;

static void start(double channels, double features)
{
    theatre_init(&o);
    test_settings_init(&g);
    test_settings_bool(&g, "factorize_convs", 1);
    test_settings_bool(&g, "factorize_linears", 1);
    test_settings_int(&g, "min_channels", 16);
    test_settings_float(&g, "latent_channels", channels);
    test_settings_int(&g, "min_features", 32);
    test_settings_float(&g, "latent_features", features);
}

static tutti_module conv(double in, double out, double groups)
{
    return theatre_add(&o, "conv2d", "in_channels", in, "out_channels", out, "kernel_size", 3.0,
                       "stride", 2.0, "padding", 1.0, "dilation", 1.0, "groups", groups, "bias",
                       0.0, NULL);
}

static int64_t number(tutti_module m, const char *name)
{
    return tutti_param_i64(&o.t.modules[m].given.params, name);
}

START_TEST(a_convolution_becomes_a_narrow_one_and_a_1_x_1)
{
    start(0.25, 8);
    const tutti_module wide = conv(20, 32, 1), narrow = conv(15, 32, 1);
    const tutti_module groups = conv(32, 32, 2);
    ck_assert_ok(theatre_operate(&o, "factorize", &g), o.err);
    ck_assert_str_eq(o.r.told, "factorize/num_conv2d_replacements=1\n"
                               "factorize/num_linear_replacements=0\n"
                               "[2] factorize replaces no linear layer: none is wide enough\n");
    ck_assert_uint_eq(o.t.modules[wide].parent, 0);
    ck_assert_uint_eq(o.t.modules[narrow].parent, 1);
    ck_assert_uint_eq(o.t.modules[groups].parent, 1);
    const tutti_module pair = groups + 1, a = pair + 1, b = pair + 2;
    ck_assert_str_eq(o.t.modules[pair].kind, "sequential");
    ck_assert_uint_eq(o.t.modules[a].parent, pair);
    ck_assert_str_eq(o.t.modules[a].name, "0");
    ck_assert_str_eq(o.t.modules[b].name, "1");
    ck_assert_int_eq(number(a, "in_channels"), 20);
    ck_assert_int_eq(number(a, "out_channels"), 5);
    ck_assert_int_eq(number(a, "kernel_size"), 3);
    ck_assert_int_eq(number(a, "stride"), 2);
    ck_assert_int_eq(number(a, "padding"), 1);
    ck_assert_int_eq(number(a, "bias"), 0);
    ck_assert_int_eq(number(b, "in_channels"), 5);
    ck_assert_int_eq(number(b, "out_channels"), 32);
    ck_assert_int_eq(number(b, "kernel_size"), 1);
    ck_assert_int_eq(number(b, "bias"), 1);
}
END_TEST

START_TEST(a_linear_layer_keeps_its_word_on_bias)
{
    start(0.25, 8);
    const tutti_module m = theatre_add(&o, "linear", "in_features", 64.0, "out_features", 32.0,
                                       "bias", (double)_i, NULL);
    ck_assert_ok(theatre_operate(&o, "factorize", &g), o.err);
    ck_assert_int_eq(number(m + 2, "in_features"), 64);
    ck_assert_int_eq(number(m + 2, "out_features"), 8);
    ck_assert_int_eq(number(m + 2, "bias"), 0);
    ck_assert_int_eq(number(m + 3, "in_features"), 8);
    ck_assert_int_eq(number(m + 3, "out_features"), 32);
    ck_assert_int_eq(number(m + 3, "bias"), _i);
}
END_TEST

/* 32 x 32: 1024 / 64 - 1 = 15 is the largest rank that saves anything. */
START_TEST(what_saves_nothing_stays)
{
    start(0.25, 15 + _i);
    const tutti_module m =
        theatre_add(&o, "linear", "in_features", 32.0, "out_features", 32.0, "bias", 1.0, NULL);
    ck_assert_ok(theatre_operate(&o, "factorize", &g), o.err);
    ck_assert_uint_eq(o.t.modules[m].parent, (tutti_module)_i);
}
END_TEST

START_TEST(each_sort_can_be_left_alone)
{
    start(0.25, 8);
    test_settings_bool(&g, _i ? "factorize_convs" : "factorize_linears", 0);
    const tutti_module a = conv(32, 32, 1);
    const tutti_module b =
        theatre_add(&o, "linear", "in_features", 32.0, "out_features", 32.0, "bias", 1.0, NULL);
    ck_assert_ok(theatre_operate(&o, "factorize", &g), o.err);
    ck_assert_uint_eq(o.t.modules[a].parent, _i ? 1 : 0);
    ck_assert_uint_eq(o.t.modules[b].parent, _i ? 0 : 1);
    ck_assert_str_eq(o.r.told, _i ? "factorize/num_linear_replacements=1\n"
                                  : "factorize/num_conv2d_replacements=1\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("factorize");
    TCase *c = tcase_create("all");
    tcase_add_test(c, a_convolution_becomes_a_narrow_one_and_a_1_x_1);
    tcase_add_loop_test(c, a_linear_layer_keeps_its_word_on_bias, 0, 2);
    tcase_add_loop_test(c, what_saves_nothing_stays, 0, 2);
    tcase_add_loop_test(c, each_sort_can_be_left_alone, 0, 2);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
