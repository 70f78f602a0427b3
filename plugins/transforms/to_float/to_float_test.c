/* to_float_test.c - every byte as its float. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

static bench b;
static test_settings g;

START_TEST(bytes_become_floats)
{
    static const double largest[] = {1.0, 255.0, 2.0};
    const tutti_desc image = {{16, 16, 1}, 3, TUTTI_U8};
    tutti_desc made, d = image;
    uint8_t x[256];
    float y[256];
    for (int k = 0; k < 256; k++)
        x[k] = (uint8_t)k;
    test_settings_init(&g);
    test_settings_float(&g, "max", largest[_i]);
    bench_open(&b, "to_float", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dtype, TUTTI_F32);
    ck_assert_int_eq(bench_apply(&b, &image, x, y, 0, 0, &made), 1);
    ck_assert(tutti_same_shape(&made, &d));
    for (int k = 0; k < 256; k++)
        ck_assert_close(y[k], k * largest[_i] / 255.0, 1e-5);
    ck_assert_close(y[255], largest[_i], 0);
    subject_close(&b.subject);
}
END_TEST

START_TEST(other_columns_stay)
{
    const tutti_desc label = {{0}, 0, TUTTI_I32}, real = {{1, 1, 3}, 3, TUTTI_F32};
    tutti_desc made, d = real;
    float x[3] = {0}, y[3];
    test_settings_init(&g);
    test_settings_float(&g, "max", 1.0);
    bench_open(&b, "to_float", &g);
    ck_assert_ok(bench_infer(&b, &d), b.err);
    ck_assert_int_eq(d.dtype, TUTTI_F32);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_apply(&b, &real, x, y, 0, 0, &made), 0);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("to_float");
    TCase *c = tcase_create("to_float");
    tcase_add_loop_test(c, bytes_become_floats, 0, 3);
    tcase_add_test(c, other_columns_stay);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
