/* two_clouds_test.c - the dataset, met through its entry function alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/dataset.h"

START_TEST(a_sample_is_the_same_each_time)
{
    float a[8], b[8];
    int32_t target;
    const uint64_t room[] = {sizeof a, sizeof target}, little[] = {4, 4};
    tutti_tensor columns[] = {{a, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0},
                              {&target, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0}};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    test_settings g;
    test_settings_init(&g);
    test_settings_int(&g, "samples", 10);
    test_settings_float(&g, "distance", 2.0);
    ck_assert_ok(
        subject_open(&s, PLUGIN_PATH, TUTTI_KIND_DATASET, "two_clouds", &g, NULL, &err), err);
    const tutti_dataset_v1 *table =
        (const tutti_dataset_v1 *)subject_query(&s, TUTTI_DATASET_V1);
    ck_assert_ok(table->read(s.self, 3, columns, room, 2, &err), err);
    ck_assert_int_eq(target, 1);
    columns[0].data = b;
    ck_assert_ok(table->read(s.self, 3, columns, room, 2, &err), err);
    ck_assert_mem_eq(a, b, sizeof a);
    ck_assert_int_eq(table->read(s.self, 10, columns, room, 2, &err), TUTTI_E_RANGE);
    ck_assert_int_eq(table->read(s.self, 0, columns, little, 2, &err), TUTTI_E_RANGE);
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("two_clouds");
    TCase *t = tcase_create("two_clouds");
    tcase_add_test(t, a_sample_is_the_same_each_time);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
