/* lenet_test.c - the layers of the two small convolutional classifiers, in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

#include <stdio.h>

static easel e;
static test_settings g;

static void settings(int64_t padding, int max)
{
    test_settings_init(&g);
    test_settings_enum(&g, "activation", "tanh", 0);
    test_settings_enum(&g, "pool", max ? "max" : "avg", max);
    test_settings_int(&g, "padding", padding);
    test_settings_null(&g, "num_classes");
}

START_TEST(lenet_has_two_convolutions_and_three_linear_layers)
{
    settings(2, 0);
    ck_assert_ok(easel_open(&e, "lenet", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 28, 28, 1), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 conv1 conv2d in_channels=1 out_channels=6 kernel_size=5 padding=2\n"
                     "3<1 pool1 avg_pool2d kernel_size=2\n"
                     "4<1 conv2 conv2d in_channels=6 out_channels=16 kernel_size=5 padding=0\n"
                     "5<1 pool2 avg_pool2d kernel_size=2\n"
                     "6<1 fc1 linear in_features=400 out_features=120\n"
                     "7<1 fc2 linear in_features=120 out_features=84\n"
                     "8<1 fc3 linear in_features=84 out_features=10\n"
                     "9<1 act1 tanh\n"
                     "10<1 act2 tanh\n"
                     "11<1 act3 tanh\n"
                     "12<1 act4 tanh\n");
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = module 9(v2)\n"
                                      "v4 = module 3(v3)\n"
                                      "v5 = module 4(v4)\n"
                                      "v6 = module 10(v5)\n"
                                      "v7 = module 5(v6)\n"
                                      "v8 = permute(v7; order=[0, 3, 1, 2])\n"
                                      "v9 = reshape(v8; shape=[4, -1])\n"
                                      "v10 = module 6(v9)\n"
                                      "v11 = module 11(v10)\n"
                                      "v12 = module 7(v11)\n"
                                      "v13 = module 12(v12)\n"
                                      "v14 = module 8(v13)\n"
                                      "v15 = softmax_cross_entropy(v14, v1)\n"
                                      "v16 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v17 = sum(v16; axes=[], keepdim=0)\n"
                                      "v18 = clamp(v17; min=1e-30)\n"
                                      "v19 = sum(v15; axes=[], keepdim=0)\n"
                                      "v20 = div(v19, v18)\n"
                                      "loss v20\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(lenet_takes_other_sizes_and_pools)
{
    settings(0, 1);
    ck_assert_ok(easel_open(&e, "lenet", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 32, 18, 3), e.err);
    const char *modules = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(modules, "2<1 conv1 conv2d in_channels=3 "));
    ck_assert_ptr_nonnull(strstr(modules, "3<1 pool1 max_pool2d kernel_size=2\n"));
    ck_assert_ptr_nonnull(strstr(modules, "6<1 fc1 linear in_features=80 out_features=120\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(lenet_refuses_images_that_are_too_small)
{
    for (int64_t padding = 0; padding <= 2; padding += 2) {
        char want[128];
        const int64_t least = 16 - 2 * padding;
        settings(padding, 0);
        ck_assert_ok(easel_open(&e, "lenet", &g), e.err);
        ck_assert_ok(easel_build(&e, TUTTI_F32, least, least, 1), e.err);
        subject_close(&e.subject);
        ck_assert_ok(easel_open(&e, "lenet", &g), e.err);
        ck_assert_int_eq(easel_build(&e, TUTTI_F32, least, least - 1, 1), TUTTI_E_SHAPE);
        (void)snprintf(want, sizeof want,
                       "lenet: samples are F32 (%lld, %lld, 1), want (H, W, C) with sides of "
                       "at least %lld",
                       (long long)least, (long long)least - 1, (long long)least);
        ck_assert_error(e.err, TUTTI_E_SHAPE, want);
        subject_close(&e.subject);
    }
}
END_TEST

START_TEST(mnist_classifier_is_composers)
{
    test_settings_init(&g);
    test_settings_null(&g, "num_classes");
    ck_assert_ok(easel_open(&e, "mnist_classifier", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 28, 28, 1), e.err);
    ck_assert_str_eq(easel_tree(&e),
                     "2<1 conv1 conv2d in_channels=1 out_channels=16 kernel_size=3 padding=0\n"
                     "3<1 conv2 conv2d in_channels=16 out_channels=32 kernel_size=3 padding=0\n"
                     "4<1 bn batch_norm2d num_features=32\n"
                     "5<1 fc1 linear in_features=512 out_features=32\n"
                     "6<1 fc2 linear in_features=32 out_features=10\n");
    ck_assert_str_eq(easel_trace(&e), "v2 = module 2(v1)\n"
                                      "v3 = relu(v2)\n"
                                      "v4 = module 3(v3)\n"
                                      "v5 = module 4(v4)\n"
                                      "v6 = relu(v5)\n"
                                      "v7 = avg_pool2d(v6; kernel=[2, 2], stride=[2, 2])\n"
                                      "v8 = permute(v7; order=[0, 3, 1, 2])\n"
                                      "v9 = reshape(v8; shape=[4, -1])\n"
                                      "v10 = module 5(v9)\n"
                                      "v11 = relu(v10)\n"
                                      "v12 = module 6(v11)\n"
                                      "v13 = softmax_cross_entropy(v12, v1)\n"
                                      "v14 = sum(v1; axes=[3], keepdim=0)\n"
                                      "v15 = sum(v14; axes=[], keepdim=0)\n"
                                      "v16 = clamp(v15; min=1e-30)\n"
                                      "v17 = sum(v13; axes=[], keepdim=0)\n"
                                      "v18 = div(v17, v16)\n"
                                      "loss v18\n");
    subject_close(&e.subject);
}
END_TEST

START_TEST(mnist_classifier_refuses_what_does_not_divide)
{
    test_settings_init(&g);
    test_settings_null(&g, "num_classes");
    ck_assert_ok(easel_open(&e, "mnist_classifier", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_F32, 28, 30, 1), TUTTI_E_SHAPE);
    ck_assert_error(e.err, TUTTI_E_SHAPE,
                    "mnist_classifier: samples are F32 (28, 30, 1), want (H, W, C) with sides "
                    "that are multiples of 4, of at least 8");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lenet");
    TCase *c = tcase_create("lenet");
    tcase_add_test(c, lenet_has_two_convolutions_and_three_linear_layers);
    tcase_add_test(c, lenet_takes_other_sizes_and_pools);
    tcase_add_test(c, lenet_refuses_images_that_are_too_small);
    tcase_add_test(c, mnist_classifier_is_composers);
    tcase_add_test(c, mnist_classifier_refuses_what_does_not_divide);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
