/* cifar_bin_test.c - folders and files of records, and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

#include <stdio.h>

static shelf s;
static test_settings g;

static void settings(const char *path, const char *variant, int which, int test)
{
    test_settings_init(&g);
    test_settings_path(&g, "path", path);
    test_settings_enum(&g, "variant", variant, which);
    test_settings_enum(&g, "split", test ? "test" : "train", test);
}

/* One record: labels, then pixel p of plane c is (p + 10 c + seed) mod 256. */
static void record(const char *file, int labels, int coarse, int fine, int seed, int cut)
{
    static uint8_t data[3074];
    data[0] = (uint8_t)coarse;
    data[labels - 1] = (uint8_t)fine;
    for (int c = 0; c < 3; c++)
        for (int p = 0; p < 1024; p++)
            data[labels + 1024 * c + p] = (uint8_t)(p + 10 * c + seed);
    (void)shelf_file(&s, file, data, (size_t)(labels + 3072 - cut));
}

static void start(void)
{
    shelf_start(&s);
}

static void erase(void)
{
    folder_remove(s.folder);
}

/* Sample `index` has this label and pixels of `seed`. */
static void holds(int64_t index, int label, int seed)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[2];
    uint8_t pixels[3072];
    int32_t target;
    void *const data[2] = {pixels, &target};
    const uint64_t capacity[2] = {sizeof pixels, sizeof target};
    for (int k = 0; k < 2; k++)
        t[k] = (tutti_tensor){.data = data[k]};
    ck_assert_ok(s.table->read(s.subject.self, index, t, capacity, 2, &err), err);
    shelf_shape(&t[0].desc, "U8 (32, 32, 3)");
    shelf_shape(&t[1].desc, "I32 ()");
    ck_assert_int_eq(target, label);
    for (int p = 0; p < 1024; p++)
        for (int c = 0; c < 3; c++)
            ck_assert_int_eq(pixels[3 * p + c], (p + 10 * c + seed) & 255);
}

START_TEST(a_folder_of_cifar_10_is_read)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (int k = 1; k <= 5; k++) {
        char name[32];
        (void)snprintf(name, sizeof name, "data_batch_%d.bin", k);
        record(name, 1, k, k, k, 0);
    }
    record("test_batch.bin", 1, 9, 9, 77, 0);
    settings(s.folder, "cifar10", 0, 0);
    ck_assert_ok(shelf_open(&s, "cifar_bin", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 5);
    ck_assert_int_eq(s.info.columns[1].classes, 10);
    for (int k = 0; k < 5; k++)
        holds(k, k + 1, k + 1);
    subject_close(&s.subject);
    settings(s.folder, "cifar10", 0, 1);
    ck_assert_ok(shelf_open(&s, "cifar_bin", &g, &err), err);
    ck_assert_int_eq(s.info.samples, 1);
    holds(0, 9, 77);
    subject_close(&s.subject);
}
END_TEST

START_TEST(both_labels_of_cifar_100_are_read)
{
    tutti_error err = TUTTI_ERROR_INIT;
    record("train.bin", 2, 19, 99, 3, 0);
    settings(s.folder, "cifar100", 1, 0);
    ck_assert_ok(shelf_open(&s, "cifar_bin", &g, &err), err);
    ck_assert_int_eq(s.info.columns[1].classes, 100);
    holds(0, 99, 3);
    subject_close(&s.subject);
    settings(shelf_path(&s, "train.bin"), "cifar100_coarse", 2, 0);
    ck_assert_ok(shelf_open(&s, "cifar_bin", &g, &err), err);
    ck_assert_int_eq(s.info.columns[1].classes, 20);
    holds(0, 19, 3);
    subject_close(&s.subject);
}
END_TEST

START_TEST(broken_sets_are_refused)
{
    settings(shelf_path(&s, "none"), "cifar10", 0, 0);
    shelf_refused(&s, "cifar_bin", &g, TUTTI_E_IO, "$/none: No such file or directory");
    settings(s.folder, "cifar10", 0, 1);
    shelf_refused(&s, "cifar_bin", &g, TUTTI_E_IO,
                  "$/test_batch.bin: No such file or directory");
    record("test_batch.bin", 1, 1, 1, 0, 5);
    shelf_refused(&s, "cifar_bin", &g, TUTTI_E_FORMAT,
                  "$/test_batch.bin: has 3068 bytes, want a multiple of the 3073 of a cifar10 "
                  "record");
    record("test_batch.bin", 1, 1, 1, 0, 3073);
    shelf_refused(&s, "cifar_bin", &g, TUTTI_E_FORMAT,
                  "$/test_batch.bin: has 0 bytes, want a multiple of the 3073 of a cifar10 "
                  "record");
    record("test_batch.bin", 1, 10, 10, 0, 0);
    shelf_refused(&s, "cifar_bin", &g, TUTTI_E_RANGE,
                  "$/test_batch.bin: sample 0: label 10, want 0 to 9");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cifar_bin");
    TCase *c = tcase_create("cifar_bin");
    tcase_add_checked_fixture(c, start, erase);
    tcase_add_test(c, a_folder_of_cifar_10_is_read);
    tcase_add_test(c, both_labels_of_cifar_100_are_read);
    tcase_add_test(c, broken_sets_are_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
