/* friedman_test.c - rows are a function of seed, split and index, and targets the published one of rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../dataset_check.h"

enum { FEATURES = 7 };

static shelf s;

static void open_set(double noise, int test)
{
    test_settings g;
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings_init(&g);
    test_settings_int(&g, "samples", 4000);
    test_settings_int(&g, "features", FEATURES);
    test_settings_enum(&g, "split", test ? "test" : "train", test);
    test_settings_int(&g, "seed", 3);
    test_settings_float(&g, "noise", noise);
    ck_assert_ok(shelf_open(&s, "friedman", &g, &err), err);
}

static float row_of(int64_t index, float *x)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    float y[FEATURES];
    void *const data[TUTTI_MAX_COLUMNS] = {x, y};
    ck_assert_ok(shelf_read(&s, index, t, data, FEATURES * sizeof *x, &err), err);
    shelf_shape(&t[0].desc, "F32 (7)");
    shelf_shape(&t[1].desc, "F32 ()");
    return y[0];
}

static double formula(const float *x)
{
    return 10.0 * sin(acos(-1.0) * (double)x[0] * (double)x[1]) +
           20.0 * pow((double)x[2] - 0.5, 2.0) + 10.0 * (double)x[3] + 5.0 * (double)x[4];
}

START_TEST(targets_are_the_function_of_the_first_five)
{
    float x[FEATURES];
    open_set(0.0, 0);
    for (int64_t k = 0; k < 100; k++) {
        const float y = row_of(k, x);
        ck_assert_close((double)y, formula(x), 1e-5);
        for (int j = 0; j < FEATURES; j++)
            ck_assert(x[j] >= 0.0f && x[j] < 1.0f);
    }
    subject_close(&s.subject);
}
END_TEST

START_TEST(noise_has_its_deviation)
{
    float x[FEATURES];
    double sum = 0.0, square = 0.0;
    open_set(2.0, 0);
    for (int64_t k = 0; k < 4000; k++) {
        const double d = (double)row_of(k, x) - formula(x);
        sum += d;
        square += d * d;
    }
    ck_assert_close(sum / 4000.0, 0.0, 0.13);    /* four standard errors */
    ck_assert_close(square / 4000.0, 4.0, 0.36); /* likewise */
    subject_close(&s.subject);
}
END_TEST

START_TEST(a_row_depends_on_seed_split_and_index_alone)
{
    float first[FEATURES], again[FEATURES];
    open_set(1.0, 0);
    const float y = row_of(5, first);
    (void)row_of(6, again);
    ck_assert_mem_ne(first, again, sizeof first);
    ck_assert(row_of(5, again) == y);
    ck_assert_mem_eq(first, again, sizeof first);
    subject_close(&s.subject);
    open_set(1.0, 1);
    (void)row_of(5, again);
    ck_assert_mem_ne(first, again, sizeof first);
    subject_close(&s.subject);
}
END_TEST

START_TEST(samples_outside_are_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_tensor t[TUTTI_MAX_COLUMNS];
    float x[FEATURES];
    void *const data[TUTTI_MAX_COLUMNS] = {x, x};
    open_set(1.0, 0);
    ck_assert_int_eq(shelf_read(&s, 4000, t, data, sizeof x, &err), TUTTI_E_RANGE);
    ck_assert_error(err, TUTTI_E_RANGE, "friedman: sample 4000, there are 4000");
    subject_close(&s.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("friedman");
    TCase *t = tcase_create("friedman");
    tcase_add_test(t, targets_are_the_function_of_the_first_five);
    tcase_add_test(t, noise_has_its_deviation);
    tcase_add_test(t, a_row_depends_on_seed_split_and_index_alone);
    tcase_add_test(t, samples_outside_are_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
