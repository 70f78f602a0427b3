/* idx_test.c - IDX files of every type, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

#include <sys/stat.h>

#include <zlib.h>

static shelf s;
static test_settings g;

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void settings(const char *images, const char *labels, int64_t classes)
{
    test_settings_init(&g);
    test_settings_path(&g, "images", images);
    if (labels)
        test_settings_path(&g, "labels", labels);
    else
        test_settings_null(&g, "labels");
    test_settings_int(&g, "classes", classes);
}

/* Two images of 2 x 3 pixels 0 to 11, labels 7 and 2. */
static void two(int64_t classes)
{
    const char *images = shelf_file(&s, "images",
                                    BYTES(0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1,
                                          2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    const char *labels = shelf_file(&s, "labels", BYTES(0, 0, 8, 1, 0, 0, 0, 2, 7, 2));
    settings(images, labels, classes);
}

static void start(void)
{
    shelf_start(&s);
}

static void erase(void)
{
    folder_remove(s.folder);
}

START_TEST(images_and_labels_are_read)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    uint8_t pixels[6];
    int32_t label[2];
    void *const data[TUTTI_MAX_COLUMNS] = {pixels, label};
    two(0);
    ck_assert_ok(shelf_open(&s, "idx", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 2);
    ck_assert_uint_eq(s.info.ncolumns, 2);
    ck_assert_str_eq(s.info.columns[0].name, "input");
    ck_assert_str_eq(s.info.columns[1].name, "target");
    ck_assert_int_eq(s.info.columns[1].classes, 8);
    shelf_shape(&s.info.columns[0].desc, "U8 (2, 3, 1)");
    ck_assert_ok(shelf_read(&s, 1, t, data, sizeof pixels, &err), err);
    shelf_shape(&t[0].desc, "U8 (2, 3, 1)");
    shelf_shape(&t[1].desc, "I32 ()");
    for (int k = 0; k < 6; k++)
        ck_assert_int_eq(pixels[k], 6 + k);
    ck_assert_int_eq(label[0], 2);
    ck_assert_int_eq(shelf_read(&s, 2, t, data, sizeof pixels, &err), TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "idx: sample 2, there are 2");
    subject_close(&s.subject);
}
END_TEST

START_TEST(gzipped_files_are_read)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    float row[2] = {0};
    void *const data[TUTTI_MAX_COLUMNS] = {row};
    gzFile gz = gzopen(shelf_path(&s, "x.gz"), "wb");
    ck_assert_int_eq(gzwrite(gz, BYTES(0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0,
                                       0xc0, 0x20, 0, 0)),
                     20);
    ck_assert_int_eq(gzclose(gz), Z_OK);
    settings(shelf_path(&s, "x.gz"), NULL, 0);
    ck_assert_ok(shelf_open(&s, "idx", &g, &err), err);
    ck_assert_uint_eq(s.info.ncolumns, 1);
    ck_assert_ok(shelf_read(&s, 0, t, data, sizeof row, &err), err);
    shelf_shape(&t[0].desc, "F32 (2)");
    ck_assert_close(row[0], 1.0, 0.0);
    ck_assert_close(row[1], -2.5, 0.0);
    subject_close(&s.subject);
}
END_TEST

START_TEST(every_type_of_label_is_read)
{
    static const struct {
        uint8_t code, bytes[8], size;
        int32_t value;
    } cases[] = {{0x08, {200}, 1, 200},
                 {0x09, {100}, 1, 100},
                 {0x0b, {1, 2}, 2, 258},
                 {0x0c, {0, 1, 0, 3}, 4, 65539}};
    for (size_t k = 0; k < 4; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        tutti_tensor t[TUTTI_MAX_COLUMNS];
        uint8_t pixel[8], file[16] = {0, 0, cases[k].code, 1, 0, 0, 0, 1};
        int32_t label[2];
        void *const data[TUTTI_MAX_COLUMNS] = {pixel, label};
        memcpy(file + 8, cases[k].bytes, cases[k].size);
        const char *labels = shelf_file(&s, "labels", file, 8u + cases[k].size);
        settings(shelf_file(&s, "x", BYTES(0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 9)), labels, 0);
        ck_assert_ok(shelf_open(&s, "idx", &g, &err), err);
        ck_assert_ok(shelf_read(&s, 0, t, data, sizeof pixel, &err), err);
        ck_assert_int_eq(label[0], cases[k].value);
        subject_close(&s.subject);
    }
}
END_TEST

START_TEST(targets_may_be_floats)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    uint8_t pixel[8];
    double target = 0;
    void *const data[TUTTI_MAX_COLUMNS] = {pixel, &target};
    const char *labels = shelf_file(
        &s, "labels", BYTES(0, 0, 0x0e, 1, 0, 0, 0, 1, 0x40, 0x04, 0, 0, 0, 0, 0, 0));
    settings(shelf_file(&s, "x", BYTES(0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 9)), labels, 0);
    ck_assert_ok(shelf_open(&s, "idx", &g, &err), err);
    ck_assert_ok(shelf_read(&s, 0, t, data, sizeof pixel, &err), err);
    shelf_shape(&t[1].desc, "F64 ()");
    ck_assert_close(target, 2.5, 0.0);
    subject_close(&s.subject);
}
END_TEST

START_TEST(broken_files_are_refused)
{
    settings(shelf_path(&s, "nowhere"), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_IO, "$/nowhere: No such file or directory");
    ck_assert_int_eq(mkfifo(shelf_path(&s, "pipe"), 0600), 0);
    settings(shelf_path(&s, "pipe"), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/pipe: is no regular file");
    settings(shelf_file(&s, "x", BYTES('P', 'K', 3, 4)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT,
                  "$/x: begins with 50 4b 03 04, which is no IDX file of 1 to 6 dimensions");
    settings(shelf_file(&s, "x", BYTES(0, 0, 8)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/x: ends 1 bytes before its header says");
    settings(shelf_file(&s, "x", BYTES(0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/x: ends 1 bytes before its header says");
    settings(shelf_file(&s, "x", BYTES(0, 0, 8, 1, 0, 0, 0, 1, 1, 2)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/x: is longer than its header says");
    settings(shelf_file(&s, "x", BYTES(0, 0, 8, 1, 0, 0, 0, 0)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/x: the set is empty");
    settings(shelf_file(&s, "x", BYTES(0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0)), NULL, 0);
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT, "$/x: has a dimension of 0");
    settings(shelf_file(&s, "x", BYTES(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff)), NULL,
             0);
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_open(&s, "idx", &g, &err), TUTTI_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "/x: cannot be read: "));
}
END_TEST

START_TEST(labels_that_do_not_fit_are_refused)
{
    two(7);
    shelf_refused(&s, "idx", &g, TUTTI_E_RANGE, "$/labels: sample 0: label 7, want 0 to 6");
    two(0);
    (void)shelf_file(&s, "labels", BYTES(0, 0, 8, 1, 0, 0, 0, 1, 7));
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT,
                  "$/labels: has 1 labels, $/images has 2 samples");
    (void)shelf_file(&s, "labels", BYTES(0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 7, 2));
    shelf_refused(&s, "idx", &g, TUTTI_E_FORMAT,
                  "$/labels: has 2 dimensions, want 1 for labels");
    (void)shelf_file(&s, "labels", BYTES(0, 0, 9, 1, 0, 0, 0, 2, 7, 0xff));
    shelf_refused(&s, "idx", &g, TUTTI_E_RANGE,
                  "$/labels: sample 1: label -1, want 0 to 16777216");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("idx");
    TCase *c = tcase_create("idx");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, images_and_labels_are_read);
    tcase_add_test(c, gzipped_files_are_read);
    tcase_add_test(c, every_type_of_label_is_read);
    tcase_add_test(c, targets_may_be_floats);
    tcase_add_test(c, broken_files_are_refused);
    tcase_add_test(c, labels_that_do_not_fit_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
