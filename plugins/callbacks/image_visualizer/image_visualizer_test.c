/* image_visualizer_test.c - the callback through its entry function: when, which images, which classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "run_check.h"
#include "stateful_check.h"

static stage run;
static subject it;
static test_settings g;
static float input[2 * 2 * 2], outputs[2 * 2 * 2 * 3];
static int32_t target[2 * 2 * 2];

static tutti_status open_with(int64_t interval, int32_t unit, const char *mode, int64_t images,
                              tutti_error *err)
{
    test_settings_init(&g);
    test_settings_time(&g, "interval", interval, unit);
    test_settings_enum(&g, "mode", mode,
                       strcmp(mode, "segmentation") == 0     ? 1
                       : strcmp(mode, "classification") == 0 ? 2
                                                             : 0);
    test_settings_int(&g, "num_images", images);
    test_settings_string(&g, "input_key", "0");
    test_settings_string(&g, "target_key", "labels");
    stage_init(&run);
    stage_tensor(&run, "0", input, (tutti_desc){{2, 2, 2, 1}, 4, TUTTI_F32});
    stage_tensor(&run, "labels", target, (tutti_desc){{2, 2, 2}, 3, TUTTI_I32});
    stage_tensor(&run, "outputs", outputs, (tutti_desc){{2, 2, 2, 3}, 4, TUTTI_F32});
    return subject_open(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, "image_visualizer", &g,
                        run.services, err);
}

static void open_it(int64_t interval, int32_t unit, const char *mode, int64_t images)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 0; k < 8; k++)
        input[k] = (float)k / 8.0f;
    ck_assert_ok(open_with(interval, unit, mode, images, &err), err);
}

static void close_it(void)
{
    subject_close(&it);
    stage_fini(&run);
}

START_TEST(the_interval_begins_at_batch_0_and_counts_batches)
{
    open_it(2, TUTTI_UNIT_BATCH, "input", 1);
    for (int k = 0; k < 5; k++) {
        for (int microbatch = 0; microbatch < 2; microbatch++) {
            ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_FORWARD);
            ck_assert_uint_eq(run.told.nimages, (uint32_t)(k / 2 + 1));
        }
        stage_next_batch(&run);
    }
    ck_assert_str_eq(run.told.images, "Images/Train (1,2,2,1): 0 0.125 0.25 0.375\n");
    close_it();
}
END_TEST

START_TEST(epochs_are_an_interval_too)
{
    open_it(1, TUTTI_UNIT_EPOCH, "input", 1);
    for (int k = 0; k < 8; k++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_FORWARD);
        ck_assert_uint_eq(run.told.nimages, (uint32_t)(k / 4 + 1));
        stage_next_batch(&run);
        if (k == 3)
            stage_next_epoch(&run);
    }
    close_it();
}
END_TEST

START_TEST(an_epoch_is_logged_once_also_in_a_run_that_is_resumed)
{
    open_it(1, TUTTI_UNIT_EPOCH, "input", 1);
    for (int k = 0; k < 2; k++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_FORWARD);
        ck_assert_uint_eq(run.told.nimages, 1);
        stage_next_batch(&run);
        stateful_resume(&it, PLUGIN_PATH, TUTTI_KIND_CALLBACK, &g);
    }
    close_it();
}
END_TEST

START_TEST(each_evaluation_begins_with_images)
{
    open_it(100, TUTTI_UNIT_BATCH, "input", 8);
    for (int evaluation = 0; evaluation < 2; evaluation++) {
        ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_START);
        for (int part = 0; part < 3; part++)
            ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_BEFORE_FORWARD);
        ck_assert_uint_eq(run.told.nimages, (uint32_t)(evaluation + 1));
    }
    ck_assert_str_eq(run.told.images,
                     "Images/Eval (2,2,2,1): 0 0.125 0.25 0.375 0.5 0.625 0.75 0.875\n");
    close_it();
}
END_TEST

/* Image 0 has -1 to 3, image 1 stays as it is, and the batch itself too. */
START_TEST(an_image_that_leaves_0_to_1_is_stretched)
{
    static const float want[] = {-1, 0, 1, 3, 0.5f, 0.5f, 0, 1};
    open_it(1, TUTTI_UNIT_BATCH, "input", 2);
    memcpy(input, want, sizeof want);
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_FORWARD);
    ck_assert_str_eq(run.told.images, "Images/Train (2,2,2,1): 0 0.25 0.5 1 0.5 0.5 0 1\n");
    ck_assert_mem_eq(input, want, sizeof want);
    close_it();
}
END_TEST

START_TEST(segmentation_has_the_likeliest_class_and_the_target)
{
    open_it(1, TUTTI_UNIT_BATCH, "segmentation", 1);
    memset(outputs, 0, sizeof outputs);
    outputs[0 * 3 + 2] = 1;
    outputs[1 * 3 + 1] = 2;
    outputs[3 * 3 + 0] = -1;
    target[0] = 2;
    target[1] = -100;
    target[2] = target[3] = 1;
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_str_eq(run.told.images, "Images/Train (1,2,2,1): 0 0.125 0.25 0.375\n"
                                      "prediction: 2 1 0 1\nground_truth: 2 3 1 1\n");
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    ck_assert_ptr_nonnull(strstr(run.told.images, "Images/Eval"));
    close_it();
}
END_TEST

START_TEST(one_number_for_a_pixel_is_a_logit_and_targets_may_be_one_hot)
{
    static float truth[] = {1, 0, 0, 1, 0, 1, 1, 0};
    open_it(1, TUTTI_UNIT_BATCH, "segmentation", 1);
    stage_tensor(&run, "outputs", outputs, (tutti_desc){{1, 2, 2, 1}, 4, TUTTI_F32});
    stage_tensor(&run, "labels", truth, (tutti_desc){{1, 2, 2, 2}, 4, TUTTI_F32});
    memcpy(outputs, (const float[]){-1, 0.5f, 0, 3}, 4 * sizeof(float));
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_ptr_nonnull(
        strstr(run.told.images, "prediction: 0 1 0 1\nground_truth: 0 1 1 0\n"));
    close_it();
}
END_TEST

START_TEST(classification_has_the_likeliest_class_and_the_target)
{
    static float scores[] = {0, 3, 1, 2, 0, 0}, truth[] = {0, 0, 1, 1, 0, 0};
    static int32_t labels[] = {1, -100};
    open_it(1, TUTTI_UNIT_BATCH, "classification", 1);
    stage_tensor(&run, "outputs", scores, (tutti_desc){{2, 3}, 2, TUTTI_F32});
    stage_tensor(&run, "labels", labels, (tutti_desc){{2}, 1, TUTTI_I32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_str_eq(run.told.images,
                     "Images/Train (1,2,2,1): 0 0.125 0.25 0.375\nclasses: 1 for 1\n");
    close_it();
    open_it(1, TUTTI_UNIT_BATCH, "classification", 2);
    stage_tensor(&run, "outputs", scores, (tutti_desc){{2, 3}, 2, TUTTI_F32});
    stage_tensor(&run, "labels", labels, (tutti_desc){{2}, 1, TUTTI_I32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_EVAL_AFTER_FORWARD);
    ck_assert_ptr_nonnull(strstr(run.told.images, "\nclasses: 1 for 1, 0 for -1\n"));
    stage_tensor(&run, "labels", truth, (tutti_desc){{2, 3}, 2, TUTTI_F32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_LOSS);
    ck_assert_ptr_nonnull(strstr(run.told.images, "\nclasses: 1 for 2, 0 for 0\n"));
    close_it();
}
END_TEST

START_TEST(what_is_wrong_is_said)
{
    tutti_error err = TUTTI_ERROR_INIT;
    open_it(1, TUTTI_UNIT_BATCH, "input", 1);
    stage_tensor(&run, "0", input, (tutti_desc){{2, 4}, 2, TUTTI_F32});
    ck_assert_hears(&run, &it, TUTTI_EVENT_BEFORE_FORWARD);
    ck_assert_str_eq(run.noted, "the input 0 is F32 of rank 2, want F32 or U8 of (N, H, W) or "
                                "(N, H, W, C) with 1, 3 or 4 channels; no images are logged");
    ck_assert_uint_eq(run.told.nimages, 0);
    close_it();
    open_it(1, TUTTI_UNIT_BATCH, "segmentation", 1);
    stage_tensor(&run, "labels", target, (tutti_desc){{2}, 1, TUTTI_I32});
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_BEFORE_LOSS, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "image_visualizer: I32 of rank 1 (2, 0, 0) is no class for each pixel of 1 "
                    "images of 2 by 2, which segmentation wants");
    close_it();
    err = (tutti_error)TUTTI_ERROR_INIT;
    open_it(1, TUTTI_UNIT_BATCH, "classification", 1);
    ck_assert_int_eq(stage_event(&run, &it, TUTTI_EVENT_BEFORE_LOSS, &err), TUTTI_E_SHAPE);
    ck_assert_error(err, TUTTI_E_SHAPE,
                    "image_visualizer: F32 of rank 4 is no class for each of 1 images, which "
                    "classification wants");
    close_it();
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(open_with(0, TUTTI_UNIT_BATCH, "input", 1, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "image_visualizer: interval must be above 0");
    stage_fini(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("image_visualizer");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, the_interval_begins_at_batch_0_and_counts_batches);
    tcase_add_test(tc, epochs_are_an_interval_too);
    tcase_add_test(tc, an_epoch_is_logged_once_also_in_a_run_that_is_resumed);
    tcase_add_test(tc, each_evaluation_begins_with_images);
    tcase_add_test(tc, an_image_that_leaves_0_to_1_is_stretched);
    tcase_add_test(tc, segmentation_has_the_likeliest_class_and_the_target);
    tcase_add_test(tc, one_number_for_a_pixel_is_a_logit_and_targets_may_be_one_hot);
    tcase_add_test(tc, classification_has_the_likeliest_class_and_the_target);
    tcase_add_test(tc, what_is_wrong_is_said);
    return tutti_run(suite);
}
