/* mlp_test.c - the layers of a perceptron, in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(double dropout)
{
    static const int64_t hidden[] = {32, 16};
    test_settings_init(&g);
    test_settings_ints(&g, "hidden", hidden, 2);
    test_settings_enum(&g, "activation", "gelu", 1);
    test_settings_float(&g, "dropout", dropout);
    test_settings_null(&g, "num_classes");
}

START_TEST(linear_layers_and_activations_alternate)
{
    settings(0.0);
    ck_assert_ok(easel_open(&e, "mlp", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 4, 5, 1), e.err);
    ck_assert_str_eq(easel_tree(&e), "2<1 body sequential\n"
                                     "3<2 flatten flatten\n"
                                     "4<2 linear0 linear in_features=20 out_features=32\n"
                                     "5<2 act0 gelu\n"
                                     "6<2 linear1 linear in_features=32 out_features=16\n"
                                     "7<2 act1 gelu\n"
                                     "8<2 head linear in_features=16 out_features=10\n");
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = softmax_cross_entropy(v2, v1)\n"
                                      "v4 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v5 = sum(v4; axes=[], keepdim=0)\n"
                                      "v6 = clamp(v5; min=1e-30)\n"
                                      "v7 = sum(v3; axes=[], keepdim=0)\n"
                                      "v8 = div(v7, v6)\n"
                                      "loss v8\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(dropout_follows_activations)
{
    settings(0.25);
    ck_assert_ok(easel_open(&e, "mlp", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 2, 2, 1), e.err);
    const char *modules = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(modules, "5<2 act0 gelu\n6<2 drop0 dropout p=0.25\n"));
    ck_assert_ptr_nonnull(strstr(modules, "8<2 act1 gelu\n9<2 drop1 dropout p=0.25\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(bytes_are_refused)
{
    settings(0.0);
    ck_assert_ok(easel_open(&e, "mlp", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_U8, 4, 4, 1), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG,
                    "mlp: the input is U8 (4, 4, 1), want F32; add the transform normalize");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_class_for_each_pixel_has_a_head_at_each_place)
{
    settings(0.0);
    ck_assert_ok(easel_open(&e, "mlp", &g), e.err);
    ck_assert_ok(easel_build_map(&e, 8, 12, 4, 5), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "linear0 linear in_features=288 out_features=32\n"));
    ck_assert_ptr_nonnull(strstr(text, "head linear in_features=16 out_features=80\n"));
    ck_assert_ptr_null(strstr(text, "global_avg_pool"));
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlp");
    TCase *c = tcase_create("mlp");
    tcase_add_test(c, linear_layers_and_activations_alternate);
    tcase_add_test(c, dropout_follows_activations);
    tcase_add_test(c, a_class_for_each_pixel_has_a_head_at_each_place);
    tcase_add_test(c, bytes_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
