/* unet_test.c - the way down, the way up, and what the model refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model_check.h"

static easel e;
static test_settings g;

static void settings(const char *upsampling, int64_t width)
{
    test_settings_init(&g);
    test_settings_int(&g, "width", width);
    test_settings_int(&g, "depth", 2);
    test_settings_enum(&g, "upsampling", upsampling, strcmp(upsampling, "bilinear") == 0);
    test_settings_null(&g, "num_classes");
}

static tutti_status build_for(tutti_desc input, tutti_desc target, int64_t classes)
{
    const tutti_column columns[2] = {{"input", input, 0}, {"target", target, classes}};
    ck_assert_ok(easel_open(&e, "unet", &g), e.err);
    return e.table->build(e.subject.self, 1, columns, 2, &e.err);
}

static const tutti_desc image = {{16, 16, 3}, 3, TUTTI_F32}, map = {{16, 16}, 2, TUTTI_I32};

START_TEST(each_step_down_has_one_up)
{
    settings("transposed", 8);
    ck_assert_ok(build_for(image, map, 4), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "in_channels=3 out_channels=8 kernel_size=3"));
    ck_assert_ptr_nonnull(strstr(text, "down1 sequential\n"));
    ck_assert_ptr_nonnull(strstr(text, "in_channels=16 out_channels=32 kernel_size=3"));
    ck_assert_ptr_nonnull(
        strstr(text, "up1 unet_up in_channels=32 out_channels=16 bilinear=0\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "up2 unet_up in_channels=16 out_channels=8 bilinear=0\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "conv conv2d in_channels=8 out_channels=4 kernel_size=1\n"));
    subject_close(&e.subject);
}
END_TEST

START_TEST(bilinear_steps_have_half_the_channels)
{
    settings("bilinear", 8);
    ck_assert_ok(build_for(image, map, 4), e.err);
    const char *text = easel_tree(&e);
    ck_assert_ptr_nonnull(strstr(text, "in_channels=16 out_channels=16 kernel_size=3"));
    ck_assert_ptr_nonnull(
        strstr(text, "up1 unet_up in_channels=32 out_channels=8 bilinear=1\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "up2 unet_up in_channels=16 out_channels=8 bilinear=1\n"));
    subject_close(&e.subject);
}
END_TEST

typedef struct misfit {
    tutti_desc input, target;
    int64_t classes;
    const char *text;
} misfit;

static const misfit misfits[] = {
    {{{16, 3, 3}, 3, TUTTI_F32},
     {{16, 3}, 2, TUTTI_I32},
     4,
     "unet: samples are F32 (16, 3, 3), want (H, W, C) large enough for 2 halvings"},
    {{{16, 16, 3}, 3, TUTTI_F32},
     {{0}, 0, TUTTI_I32},
     4,
     "unet: samples are F32 (16, 16, 3) and targets I32 (), want a class for each pixel"},
    {{{16, 16, 3}, 3, TUTTI_F32},
     {{16, 8}, 2, TUTTI_I32},
     4,
     "unet: samples are F32 (16, 16, 3) and targets I32 (16, 8), want a class for each pixel"},
    {{{16, 16, 3}, 3, TUTTI_F32},
     {{16, 16}, 2, TUTTI_I32},
     0,
     "unet: the data does not say how many classes there are; set num_classes"},
};

START_TEST(data_that_do_not_fit_are_refused)
{
    const misfit *m = &misfits[_i];
    settings("transposed", 8);
    ck_assert_int_ne(build_for(m->input, m->target, m->classes), TUTTI_OK);
    ck_assert_str_eq(e.err.text, m->text);
    subject_close(&e.subject);
}
END_TEST

START_TEST(an_odd_width_cannot_be_halved)
{
    settings("bilinear", 7);
    ck_assert_int_eq(easel_open(&e, "unet", &g), TUTTI_E_ARG);
    ck_assert_error(e.err, TUTTI_E_ARG, "unet: width is 7, and bilinear upsampling halves it");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unet");
    TCase *c = tcase_create("unet");
    tcase_add_test(c, each_step_down_has_one_up);
    tcase_add_test(c, bilinear_steps_have_half_the_channels);
    tcase_add_loop_test(c, data_that_do_not_fit_are_refused, 0,
                        (int)(sizeof misfits / sizeof *misfits));
    tcase_add_test(c, an_odd_width_cannot_be_halved);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
