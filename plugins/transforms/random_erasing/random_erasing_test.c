/* random_erasing_test.c - the size of the rectangle as torchvision has it, its place, and what stands there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../picture_change_check.h"

enum { H = 20, W = 30, N = H * W };

static test_settings g;

static void settings(double p, double scale, double ratio)
{
    test_settings_init(&g);
    test_settings_float(&g, "p", p);
    test_settings_floats(&g, "scale", &scale, 1);
    test_settings_floats(&g, "ratio", &ratio, 1);
    test_settings_bool(&g, "random", 0);
}

/* Where the number -5 stands: first row and column, and how many. */
static void find(const float *y, int64_t at[2], int64_t size[2])
{
    int64_t last[2] = {-1, -1};
    at[0] = H;
    at[1] = W;
    for (int64_t i = 0; i < N; i++)
        if (y[i] == -5.0f) {
            const int64_t place[2] = {i / W, i % W};
            for (int a = 0; a < 2; a++) {
                at[a] = place[a] < at[a] ? place[a] : at[a];
                last[a] = place[a] > last[a] ? place[a] : last[a];
            }
        }
    for (int a = 0; a < 2; a++)
        size[a] = last[a] < 0 ? 0 : last[a] - at[a] + 1;
}

/* Scale, ratio, height and width: tests/peers/vision.py, torchvision 0.29.2. */
static const struct {
    double scale, ratio;
    int64_t size[2];
} cases[] = {
    {0.02, 1.0, {3, 3}}, {0.2, 1.0, {11, 11}}, {0.1, 0.3, {4, 14}}, {0.1, 3.3, {14, 4}},
    {0.33, 2.0, {0, 0}}, {0.9, 1.0, {0, 0}},   {0.05, 0.7, {5, 7}},
};

START_TEST(sizes_are_those_of_torchvision)
{
    static const double value = -5.0;
    const tutti_desc d = {{H, W, 1}, 3, TUTTI_F32};
    float x[N], y[N];
    int rows = 0, columns = 0;
    bench b;
    tutti_desc made;
    for (int k = 0; k < N; k++)
        x[k] = (float)k;
    settings(1.0, cases[_i].scale, cases[_i].ratio);
    test_settings_floats(&g, "value", &value, 1);
    bench_open(&b, "random_erasing", &g);
    for (uint64_t index = 0; index < 300; index++) {
        int64_t at[2], size[2], erased = 0;
        const int32_t done = bench_apply(&b, &d, x, y, 0, index, &made);
        ck_assert_int_eq(done, cases[_i].size[0] > 0);
        if (!done)
            continue;
        find(y, at, size);
        ck_assert_int_eq(size[0], cases[_i].size[0]);
        ck_assert_int_eq(size[1], cases[_i].size[1]);
        for (int k = 0; k < N; k++) {
            erased += y[k] == -5.0f;
            ck_assert(y[k] == -5.0f || y[k] == x[k]);
        }
        ck_assert_int_eq(erased, size[0] * size[1]);
        rows |= (at[0] == 0) | (at[0] + size[0] == H) << 1;
        columns |= (at[1] == 0) | (at[1] + size[1] == W) << 1;
    }
    if (cases[_i].size[0] > 0) { /* it comes to every edge */
        ck_assert_int_eq(rows, 3);
        ck_assert_int_eq(columns, 3);
    }
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_stands_there)
{
    static const double values[] = {300.0, 7.0, -1.0}, none = 0.0;
    const tutti_desc bytes = {{H, W, 3}, 3, TUTTI_U8}, label = {{0}, 0, TUTTI_I32};
    static float f[N], z[N];
    uint8_t x[3 * N], y[3 * N];
    double sum = 0.0, squares = 0.0;
    int erased = 0;
    bench b;
    tutti_desc made, two = {{H, W, 2}, 3, TUTTI_U8}, one = {{H, W, 1}, 3, TUTTI_F32};
    memset(x, 99, sizeof x);
    settings(1.0, 0.2, 1.0);
    test_settings_floats(&g, "value", values, 3);
    bench_open(&b, "random_erasing", &g);
    ck_assert_int_eq(bench_apply(&b, &bytes, x, y, 0, 0, &made), 1);
    for (int k = 0; k < N; k++) {
        erased += y[3 * k] != 99;
        ck_assert(y[3 * k] == 99 ||
                  (y[3 * k] == 255 && y[3 * k + 1] == 7 && y[3 * k + 2] == 0));
    }
    ck_assert_int_eq(erased, 11 * 11);
    ck_assert_int_eq(bench_apply(&b, &label, x, y, 0, 0, &made), 0);
    ck_assert_int_eq(bench_infer(&b, &two), TUTTI_E_SHAPE);
    ck_assert_error(b.err, TUTTI_E_SHAPE,
                    "random_erasing: column input has 2 channels and value 3 numbers");
    subject_close(&b.subject);

    settings(1.0, 0.2, 1.0);
    test_settings_floats(&g, "value", &none, 1);
    test_settings_bool(&g, "random", 1);
    bench_open(&b, "random_erasing", &g);
    erased = 0;
    for (int k = 0; k < N; k++)
        f[k] = 50.0f;
    for (uint64_t index = 0; index < 100; index++) {
        ck_assert_int_eq(bench_apply(&b, &one, f, z, 0, index, &made), 1);
        for (int k = 0; k < N; k++)
            if (z[k] != 50.0f) {
                erased++;
                sum += (double)z[k];
                squares += (double)z[k] * (double)z[k];
            }
    }
    ck_assert_int_eq(erased, 12100);
    ck_assert_close(sum / erased, 0.0, 0.05); /* five standard deviations of a mean */
    ck_assert_close(squares / erased, 1.0, 0.07);
    two.dim[2] = 1;
    ck_assert_int_eq(bench_infer(&b, &two), TUTTI_E_ARG);
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random_erasing");
    TCase *c = tcase_create("random_erasing");
    tcase_add_loop_test(c, sizes_are_those_of_torchvision, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, what_stands_there);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
