/* log_media_test.c - tables and images that plugins log: what the host refuses, and what it says where nobody takes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/log_media.h"
#include "tutti_check.h"

static char told[1024];
static int32_t told_level;
static tutti_error err;
static tutti_timestamp now;
static run_log quiet;

static void hear(void *ctx, int level, const char *component, const char *text)
{
    const size_t used = strlen(told);
    (void)ctx;
    (void)component;
    told_level = level;
    (void)snprintf(told + used, sizeof told - used, "%s\n", text);
}

static void setup(void)
{
    told[0] = '\0';
    quiet = (run_log){.now = &now, .ready = true, .message = hear};
    err = (tutti_error)TUTTI_ERROR_INIT;
}

static tutti_status log_cells(const char *name, uint32_t ncolumns, const char *second)
{
    static const char *const columns[] = {"a", "b"};
    const char *const cells[] = {"1", second};
    const tutti_table t = {sizeof t, ncolumns, name, columns, cells, 1};
    err = (tutti_error)TUTTI_ERROR_INIT;
    return run_log_table(&quiet, &t, &err);
}

START_TEST(where_no_logger_takes_them_it_is_said_once)
{
    ck_assert_ok(log_cells("t", 2, "null"), err);
    ck_assert_ok(log_cells("t", 2, "[\"x\"]"), err);
    ck_assert_str_eq(told, "tables are logged, and no logger of the run takes them\n");
    ck_assert_int_eq(told_level, TUTTI_LOG_WARNING);
}
END_TEST

START_TEST(cells_are_json)
{
    (void)log_cells("t", 2, "1, 2");
    ck_assert_error(err, TUTTI_E_ARG,
                    "column b of row 0 of the table t is 1, 2, want a JSON value");
    (void)log_cells("t", 2, "x");
    ck_assert_error(err, TUTTI_E_ARG,
                    "column b of row 0 of the table t is x, want a JSON value");
    (void)log_cells("t", 2, NULL);
    ck_assert_error(err, TUTTI_E_ARG,
                    "column b of row 0 of the table t is not set, want a JSON value");
    (void)log_cells("t", 0, "1");
    ck_assert_error(err, TUTTI_E_ARG, "a table has no columns, want a name and columns");
    (void)log_cells("", 2, "1");
    ck_assert_error(err, TUTTI_E_ARG, "a table has no name, want a name and columns");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(run_log_table(&quiet, &(tutti_table){.name = "t", .ncolumns = 1}, &err),
                     TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the caller's tutti_table has struct_size 0, want at least 40: set it to "
                    "sizeof");
    ck_assert_str_eq(told, "");
}
END_TEST

static tutti_status log_pixels(int64_t n, int64_t c, int32_t dtype, int32_t device,
                               int32_t class_)
{
    static uint8_t data[64];
    const int32_t map[4] = {0, 1, class_, 0};
    const tutti_tensor pixels = {data, {{n, 2, 2, c}, 4, dtype}, device, 0};
    const tutti_image_mask mask = {"truth", map};
    const tutti_images images = {.struct_size = sizeof images,
                                 .nmasks = 1,
                                 .name = "i",
                                 .pixels = &pixels,
                                 .masks = &mask};
    err = (tutti_error)TUTTI_ERROR_INIT;
    return run_log_images(&quiet, &images, &err);
}

START_TEST(images_are_pixels_of_the_host)
{
    ck_assert_ok(log_pixels(1, 3, TUTTI_U8, TUTTI_DEVICE_CPU, 2), err);
    ck_assert_str_eq(told, "images are logged, and no logger of the run takes them\n");
    (void)log_pixels(1, 2, TUTTI_U8, TUTTI_DEVICE_CPU, 2);
    ck_assert_error(
        err, TUTTI_E_SHAPE,
        "the images i have rank 4, 8 numbers and 2 channels, want (N, H, W, C) with "
        "1, 3 or 4 channels");
    (void)log_pixels(0, 3, TUTTI_U8, TUTTI_DEVICE_CPU, 2);
    ck_assert_int_eq(err.status, TUTTI_E_SHAPE);
    (void)log_pixels(1, 3, TUTTI_BF16, TUTTI_DEVICE_CPU, 2);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the images i are BF16, want U8 or F32 in memory of the host");
    (void)log_pixels(1, 3, TUTTI_F32, 0, 2);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the images i are F32 of a device, want U8 or F32 in memory of the host");
    (void)log_pixels(1, 3, TUTTI_U8, TUTTI_DEVICE_CPU, -1);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "the mask truth of the images i has class -1, want at least 0");
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(run_log_images(&quiet, &(tutti_images){.name = "i"}, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "the caller's tutti_images has struct_size 0, want at least 64: set it to "
                    "sizeof");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_media");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, where_no_logger_takes_them_it_is_said_once);
    tcase_add_test(tc, cells_are_json);
    tcase_add_test(tc, images_are_pixels_of_the_host);
    return tutti_run(suite);
}
