/* airbench_test.c - the network of the paper, what it emits in training, and images that are too small. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(const char *views, int64_t index)
{
    static const int64_t widths[] = {64, 256, 256};
    test_settings_init(&g);
    test_settings_ints(&g, "widths", widths, 3);
    test_settings_float(&g, "output_scale", 0.125);
    test_settings_enum(&g, "views", views, index);
    test_settings_null(&g, "num_classes");
}

START_TEST(blocks_are_those_of_the_paper)
{
    settings("mirror_shift", 2);
    ck_assert_ok(easel_open(&e, "airbench", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 32, 32, 3), e.err);
    const char *text = easel_tree(&e);
    ck_assert_msg(strstr(text,
                         "3<2 whitening conv2d in_channels=3 out_channels=24 kernel_size=2 "
                         "padding=0 bias=1 init=2\n"
                         "4<2 act gelu\n"
                         "5<2 block1 sequential\n"
                         "6<5 conv1 conv2d in_channels=24 out_channels=64 kernel_size=3 "
                         "padding=1 bias=0 init=2\n"
                         "7<5 pool max_pool2d kernel_size=2\n"
                         "8<5 norm1 batch_norm2d num_features=64 eps=1e-12 momentum=0.4\n"
                         "9<5 act1 gelu\n"
                         "10<5 conv2 conv2d in_channels=64 out_channels=64 kernel_size=3 "
                         "padding=1 bias=0 init=2\n"
                         "11<5 norm2 batch_norm2d num_features=64 eps=1e-12 momentum=0.4\n"
                         "12<5 act2 gelu\n"
                         "13<2 block2 sequential\n"
                         "14<13 conv1 conv2d in_channels=64 out_channels=256") != NULL,
                  "%s", text);
    ck_assert_msg(strstr(text,
                         "29<2 pool max_pool2d kernel_size=3\n"
                         "30<2 flatten flatten\n"
                         "31<2 head linear in_features=256 out_features=10 bias=0\n") != NULL,
                  "%s", text);
    const char *trace = easel_trace(&e); /* training sees one view */
    ck_assert_msg(
        strncmp(trace, "v2 = module 2(v1)\nv3 = affine(v2; scale=0.125, shift=0)\n", 56) == 0,
        "%s", trace);
    subject_close(&e.subject);
}
END_TEST

START_TEST(images_that_are_too_small_are_refused)
{
    settings("one", 0);
    ck_assert_ok(easel_open(&e, "airbench", &g), e.err);
    ck_assert_ok(easel_build(&e, TUTTI_F32, 25, 49, 1), e.err);
    ck_assert_msg(strstr(easel_tree(&e), "head linear in_features=512 ") != NULL, "%s",
                  easel_tree(&e)); /* 1 x 2 places */
    subject_close(&e.subject);
    ck_assert_ok(easel_open(&e, "airbench", &g), e.err);
    ck_assert_int_eq(easel_build(&e, TUTTI_F32, 32, 24, 3), TUTTI_E_SHAPE);
    ck_assert_error(
        e.err, TUTTI_E_SHAPE,
        "airbench: samples are F32 (32, 24, 3), want (H, W, C) of at least 25 x 25");
    subject_close(&e.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("airbench");
    TCase *c = tcase_create("airbench");
    tcase_add_test(c, blocks_are_those_of_the_paper);
    tcase_add_test(c, images_that_are_too_small_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
