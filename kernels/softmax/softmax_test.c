/* softmax_test.c - softmax against its definition, finite differences, numbers by hand; what it refuses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_example.h"
#include "common/softmax_row.h"

static const op_case cases[] = {
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 4, 7)}, .low = {-4}, .high = {4}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 3, 2, 3, 1)}},
    {.op = "softmax",
     .nin = 1,
     .in = {DESC(F32, 3, 2, 5, 3)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 1, 0.0, NULL, NULL}},
     .low = {-4},
     .high = {4}},
    {.op = "softmax",
     .nin = 1,
     .in = {DESC(F32, 1, 5)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 900, 77)}, .no_second = 1},
    {.op = "softmax",
     .nin = 1,
     .in = {DESC(F32, 2, 77, 300)},
     .nattr = 1,
     .attr = {{"axis", TUTTI_ATTR_I64, 0, 0, 0.0, NULL, NULL}},
     .no_second = 1},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 2, 1283)}, .no_grad = 1},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 0, 3)}},
    {.op = "softmax", .nin = 1, .in = {DESC(F32, 2, 3, 0)}},
};

static const op_example examples[] = {
    {.in = {DESC(F32, 2, 2, 3)},
     .data = {F32S(1, 2, 3, 1001, 1002, 1003)},
     .out = DESC(F32, 2, 2, 3),
     .want = F32S(0.0900305732f, 0.244728471f, 0.665240956f, 0.0900305732f, 0.244728471f,
                  0.665240956f),
     .attr = &(const int64_t){-1}},
    {.in = {DESC(F32, 1, 2)},
     .data = {F32S(1, NAN)},
     .out = DESC(F32, 1, 2),
     .want = F32S(NAN, NAN),
     .attr = &(const int64_t){0}},
    {.in = {DESC(F32, 2, 3, 1)},
     .data = {F32S(-10000.0f, -9999.0f, -9998.0f)},
     .out = DESC(F32, 2, 3, 1),
     .want = F32S(0.0900305732f, 0.244728471f, 0.665240956f),
     .attr = &(const int64_t){0}},
};

static const op_refusal refusals[] = {
    {.in = {DESC(F32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){1},
     .status = TUTTI_E_RANGE,
     .text = "softmax: axis 1, want one of rank 1"},
    {.in = {DESC(F32, 0, 0)},
     .nin = 1,
     .attr = &(const int64_t){-1},
     .status = TUTTI_E_RANGE,
     .text = "softmax: axis -1, want one of rank 0"},
    {.in = {DESC(I32, 1, 2)},
     .nin = 1,
     .attr = &(const int64_t){0},
     .status = TUTTI_E_ARG,
     .text = "softmax: x is I32 (2), want F32"},
};

/* ---- rows, as common/softmax_row.h goes over them ---- */

enum { LONG = 70001 }; /* more chunks than there is room for of the smallest size */

/* Row `kind` of n numbers; some chunks' largest number is larger than all before, others' is not. */
static void fill(float *x, int64_t n, int kind)
{
    for (int64_t k = 0; k < n; k++) {
        const double wave = sin((double)k * 0.37);
        x[k] = (float)(kind == 0   ? wave
                       : kind == 1 ? wave + (double)k * 0.01
                       : kind == 2 ? wave - (double)k * 0.01
                       : k < n / 2 ? -INFINITY
                                   : wave);
    }
}

/* Lengths below, at and beyond one register, one tile, one chunk, all chunks. */
static const int64_t lengths[] = {1, 15, 16, 65, 1024, 1025, 3000, LONG};
enum { LENGTHS = sizeof lengths / sizeof *lengths, KINDS = 4 };

START_TEST(sum_and_largest_of_a_row_are_those_of_f64)
{
    const int64_t n = lengths[_i / KINDS];
    float *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y), max;
    ck_assert(x && y);
    fill(x, n, _i % KINDS);
    double sum = 0.0, largest = -INFINITY;
    for (int64_t k = 0; k < n; k++)
        largest = x[k] > largest ? (double)x[k] : largest;
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)x[k] - largest);
    const double got = softmax_sum(x, n, &max);
    ck_assert_close(max, largest, 0.0);
    ck_assert_close(got, sum, 1e-6 * sum);
    softmax_row(x, y, n, 0.5);
    for (int64_t k = 0; k < n; k++)
        ck_assert_close(y[k], 0.5 * exp((double)x[k] - largest) / sum, 1e-6 / sum);
    softmax_row(x, x, n, 0.5);
    ck_assert_mem_eq(x, y, (size_t)n * sizeof *x);
    free(x);
    free(y);
}
END_TEST

START_TEST(a_row_with_a_nan_or_without_numbers_gives_nan)
{
    float x[3000], max;
    for (int kind = 0; kind < 3; kind++) {
        fill(x, 3000, 0);
        if (kind < 2)
            x[kind ? 2999 : 1] = kind ? NAN : INFINITY;
        for (int k = 0; kind == 2 && k < 3000; k++)
            x[k] = -INFINITY;
        if (kind < 2)
            ck_assert(isnan(softmax_sum(x, 3000, &max)));
        softmax_row(x, x, 3000, 1.0);
        ck_assert(isnan(x[0]) && isnan(x[1500]) && isnan(x[2999]));
    }
}
END_TEST

extern const tutti_op tutti_op_softmax;
OP_TEST_CASES(softmax)
OP_TEST_EXAMPLES(softmax, 1)
OP_TEST_REFUSALS(softmax)
OP_TEST_PROGRAM(softmax, OP_ADD_CASES(softmax); OP_ADD_EXAMPLES(softmax);
                OP_ADD_REFUSALS(softmax);
                tcase_add_loop_test(t, sum_and_largest_of_a_row_are_those_of_f64, 0,
                                    LENGTHS *KINDS);
                tcase_add_test(t, a_row_with_a_nan_or_without_numbers_gives_nan))
