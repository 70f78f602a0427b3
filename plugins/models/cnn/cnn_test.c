/* cnn_test.c - stages of convolution, norm, activation and pooling, as long as there are pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(double dropout)
{
    static const int64_t channels[] = {16, 32};
    test_settings_init(&g);
    test_settings_ints(&g, "channels", channels, 2);
    test_settings_enum(&g, "activation", "relu", 0);
    test_settings_float(&g, "dropout", dropout);
    test_settings_null(&g, "num_classes");
}

START_TEST(each_stage_halves_the_image)
{
    settings(0.5);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 28, 28, 1), e.err);
    ck_assert_str_eq(easel_tree(&e), "2<1 body sequential\n"
                                     "3<2 conv0 conv2d in_channels=1 out_channels=16 "
                                     "kernel_size=3 stride=1 padding=1 bias=0 init=1\n"
                                     "4<2 norm0 batch_norm2d num_features=16\n"
                                     "5<2 act0 relu\n"
                                     "6<2 pool0 max_pool2d kernel_size=2\n"
                                     "7<2 conv1 conv2d in_channels=16 out_channels=32 "
                                     "kernel_size=3 stride=1 padding=1 bias=0 init=1\n"
                                     "8<2 norm1 batch_norm2d num_features=32\n"
                                     "9<2 act1 relu\n"
                                     "10<2 pool global_avg_pool\n"
                                     "11<2 drop dropout p=0.5\n"
                                     "12<2 head linear in_features=32 out_features=10\n");
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

START_TEST(norms_may_be_of_groups)
{
    settings(0.0);
    test_settings_int(&g, "norm_groups", 8);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 28, 28, 1), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "norm0 group_norm num_channels=16 num_groups=8\n"));
    ck_assert_ptr_null(strstr(text, "batch_norm"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(samples_that_are_no_images_are_refused)
{
    const tutti_column columns[2] = {{"input", {{7}, 1, TUTTI_F32}, 0},
                                     {"target", {{0}, 0, TUTTI_I32}, 10}};
    settings(0.0);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_int_eq(e.table->build(e.subject.self, 1, columns, 2, &e.err), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "cnn: samples are F32 (7), want (H, W, C) large enough for 1 halvings");
    subject_close(&e.subject);
}
END_TEST

START_TEST(a_class_for_each_pixel_has_a_head_at_each_place)
{
    settings(0.0);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_ok(easel_build_map(&e, 8, 12, 8, 12), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "head linear in_features=32 out_features=4\n"));
    ck_assert_ptr_nonnull(strstr(text, "<2 up upsample2d scale_factor=2 mode=1\n"));
    ck_assert_ptr_null(strstr(text, "global_avg_pool"));
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_int_eq(easel_build_map(&e, 8, 8, 8, 4), TUTTI_E_SHAPE);
    ck_assert_str_eq(
        e.err.text,
        "cnn: samples are F32 (8, 8, 3) and targets I32 (8, 4), want a class for each pixel");
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "cnn", &g), e.err);
    ck_assert_int_eq(easel_build_map(&e, 9, 8, 9, 8), TUTTI_E_SHAPE);
    ck_assert_str_eq(e.err.text,
                     "cnn: samples are F32 (9, 8, 3), want sides that are multiples of 2: its "
                     "features are so much smaller, and there is a class for each pixel");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cnn");
    TCase *c = tcase_create("cnn");
    tcase_add_test(c, each_stage_halves_the_image);
    tcase_add_test(c, norms_may_be_of_groups);
    tcase_add_test(c, a_class_for_each_pixel_has_a_head_at_each_place);
    tcase_add_test(c, samples_that_are_no_images_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
