/* matmul_test.c - matmul against its definition, differences and hand-made numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul.h"

#include "common/gemm.h"
#include "common/gemm_microkernel.h"
#include "common/op_refusal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS(a, b)                                                                            \
    .nattr = 2, .attr = {{"transpose_a", TUTTI_ATTR_I64, 0, (a), 0, NULL, NULL},               \
                         {"transpose_b", TUTTI_ATTR_I64, 0, (b), 0, NULL, NULL}}

static const op_case cases[] = {
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 5)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 4), DESC(F32, 2, 5, 4)}, FLAGS(0, 1)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 5, 4)}, FLAGS(1, 1)},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     FLAGS(0, 1)},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 2, 3), DESC(F32, 2, 3, 2), DESC(F32, 1, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 2, 2, 3), DESC(F32, 3, 2, 3, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 4, 2, 1, 2, 3), DESC(F32, 3, 3, 3, 2)}},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 3, 2), DESC(F32, 3, 2, 3, 2)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 2, 3, 2), DESC(F32, 2, 3, 4)}, FLAGS(1, 0)},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 0, 4), DESC(F32, 2, 4, 5)}},
    {.op = "matmul", .nin = 3, .in = {DESC(F32, 2, 3, 0), DESC(F32, 2, 0, 5), DESC(F32, 1, 5)}},
};

/* Sums stay away from 0, where ReLU bends and differences see both sides. */
#define ACT(tb, a)                                                                             \
    .nattr = 2,                                                                                \
    .attr = {{"transpose_b", TUTTI_ATTR_I64, 0, (tb), 0, NULL, NULL},                          \
             {"act", TUTTI_ATTR_I64, 0, (a), 0, NULL, NULL}},                                  \
    .rounds = (a) > 1 ? 2 : 0
#define AWAY .low = {0.2, 0.2, 0.1}, .high = {1.0, 0.9, 0.7}
static const op_case acts[] = {
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     ACT(1, 1),
     AWAY},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 2, 3, 4)}, ACT(0, 2)},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     ACT(1, 3)},
    {.op = "matmul_act",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     ACT(1, 1),
     AWAY},
    {.op = "matmul_act",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     ACT(1, 2)},
    {.op = "matmul_act", .nin = 2, .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 3, 4)}, ACT(0, 3)},
    {.op = "matmul_act", .nin = 2, .in = {DESC(F32, 2, 0, 3), DESC(F32, 2, 3, 4)}, ACT(0, 2)},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 2, 5, 4)},
     ACT(1, 1),
     AWAY},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 2, 3, 4), DESC(F32, 3, 2, 5, 4)},
     ACT(0, 2)},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 2, 5, 4)},
     ACT(1, 3)},
};

static const op_case bias_grads[] = {
    {.op = "matmul_add",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 4, 3), DESC(F32, 2, 5, 4)},
     FLAGS(0, 1)},
    {.op = "matmul_add",
     .nin = 4,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 2, 3, 4), DESC(F32, 3, 2, 5, 4), DESC(F32, 1, 4)}},
    {.op = "matmul_add",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 3, 2, 3, 4), DESC(F32, 3, 2, 5, 4)}},
    {.op = "matmul_add",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 0), DESC(F32, 2, 0, 4), DESC(F32, 2, 5, 4)}},
    {.op = "matmul_add",
     .nin = 4,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 97, 75), DESC(F32, 2, 131, 75),
            DESC(F32, 1, 75)},
     FLAGS(1, 0),
     .no_grad = 15},
};

#define SUMS(a, b, o)                                                                          \
    .nattr = 3, .attr = {{"transpose_a", TUTTI_ATTR_I64, 0, (a), 0, NULL, NULL},               \
                         {"transpose_b", TUTTI_ATTR_I64, 0, (b), 0, NULL, NULL},               \
                         {"of", TUTTI_ATTR_I64, 0, (o), 0, NULL, NULL}}
static const op_case with_sums[] = {
    {.op = "matmul_bias_grad",
     .nin = 2,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 5, 4)},
     SUMS(1, 0, 0)},
    {.op = "matmul_bias_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 5, 4), DESC(F32, 2, 3, 4)},
     SUMS(1, 0, 0)},
    {.op = "matmul_bias_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 5, 4), DESC(F32, 2, 3, 4)},
     SUMS(1, 0, 1)},
    {.op = "matmul_bias_grad",
     .nin = 2,
     .in = {DESC(F32, 2, 3, 5), DESC(F32, 2, 4, 5)},
     SUMS(0, 1, 0)},
    {.op = "matmul_bias_grad",
     .nin = 2,
     .in = {DESC(F32, 2, 3, 5), DESC(F32, 2, 4, 5)},
     SUMS(0, 1, 1)},
    {.op = "matmul_bias_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 0, 3), DESC(F32, 2, 0, 4), DESC(F32, 2, 3, 4)},
     SUMS(1, 0, 0),
     .no_grad = 7},
    {.op = "matmul_bias_grad",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 3), DESC(F32, 2, 4, 0)},
     SUMS(1, 0, 0),
     .no_grad = 7},
    {.op = "matmul_bias_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 97, 75), DESC(F32, 2, 131, 75)},
     SUMS(1, 0, 0),
     .no_grad = 7},
    {.op = "matmul_bias_grad",
     .nin = 2,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 75, 97)},
     SUMS(1, 1, 1),
     .no_grad = 3},
};

/* Signs of both sorts, far from 0: the bias decides.  Whole rows of bits: what is behind shorter ones means
 * nothing. */
static const op_case masked[] = {
    {.op = "matmul_relu",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 128, 3), DESC(F32, 1, 128)},
     ACT(1, 1),
     .low = {-0.2, -0.2, -3.0},
     .high = {0.2, 0.2, 3.0},
     .no_second = 1},
    {.op = "matmul_relu",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 5, 3), DESC(F32, 2, 3, 256), DESC(F32, 1, 256)},
     ACT(0, 1),
     .low = {-0.2, -0.2, -3.0},
     .high = {0.2, 0.2, 3.0},
     .no_grad = 7},
    {.op = "matmul_relu",
     .nin = 3,
     .in = {DESC(F32, 2, 0, 3), DESC(F32, 2, 4, 3), DESC(F32, 1, 4)},
     ACT(1, 1)},
    {.op = "matmul_relu_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 5, 3), DESC(F32, 2, 3, 12), DESC(U8, 2, 5, 16)},
     ACT(0, 1),
     .low = {-1, -1, 0},
     .high = {1, 1, 256},
     .no_grad = 7},
    {.op = "matmul_relu_grad",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 7, 40), DESC(F32, 2, 130, 40), DESC(U8, 2, 14, 32)},
     ACT(1, 1),
     .low = {-1, -1, 0},
     .high = {1, 1, 256},
     .no_grad = 7},
};

/* Shapes that differences would take too long on: the kernel alone. */
#define ALONE .no_grad = 7
static const op_case large[] = {
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 2, 37, 61), DESC(F32, 2, 61, 47)}, ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 128, 64), DESC(F32, 2, 10, 64), DESC(F32, 1, 10)},
     FLAGS(0, 1),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75), DESC(F32, 1, 75)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 97, 75)},
     FLAGS(1, 0),
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 2, 97, 131), DESC(F32, 2, 75, 97)},
     FLAGS(1, 1),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 3, 4, 65, 70), DESC(F32, 3, 4, 70, 80), DESC(F32, 1, 80)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 3, 65, 70), DESC(F32, 3, 3, 70, 80)},
     ALONE},
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 4, 4, 3, 33, 32), DESC(F32, 4, 4, 3, 31, 32)},
     FLAGS(0, 1),
     ALONE},
};

static const op_case large_acts[] = {
    {.op = "matmul",
     .nin = 2,
     .in = {DESC(F32, 3, 3, 33, 40), DESC(F32, 3, 3, 40, 24)},
     ACT(0, 3),
     ALONE},
    {.op = "matmul_act",
     .nin = 3,
     .in = {DESC(F32, 2, 33, 40), DESC(F32, 2, 24, 40), DESC(F32, 1, 24)},
     ACT(1, 3),
     ALONE},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 33, 40), DESC(F32, 2, 40, 24), DESC(F32, 2, 33, 24)},
     ACT(0, 3),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 75, 97), DESC(F32, 1, 75)},
     ACT(1, 1),
     ALONE},
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 75, 97), DESC(F32, 1, 75)},
     ACT(1, 2),
     ALONE},
    {.op = "matmul_act",
     .nin = 3,
     .in = {DESC(F32, 3, 2, 131, 97), DESC(F32, 2, 75, 97), DESC(F32, 1, 75)},
     ACT(1, 3),
     ALONE},
    {.op = "matmul_act",
     .nin = 2,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75)},
     ACT(0, 1),
     ALONE},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75), DESC(F32, 2, 131, 75)},
     ACT(0, 2),
     ALONE},
    {.op = "matmul_act_grad",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75), DESC(F32, 2, 131, 75)},
     ACT(0, 1),
     ALONE},
};

#define FAST .nattr = 1, .attr = {{"fast", TUTTI_ATTR_I64, 0, 1, 0, NULL, NULL}}, ALONE
static const op_case fast[] = {
    {.op = "matmul",
     .nin = 3,
     .in = {DESC(F32, 2, 131, 97), DESC(F32, 2, 97, 75), DESC(F32, 1, 75)},
     FAST},
    {.op = "matmul", .nin = 2, .in = {DESC(F32, 3, 4, 33, 70), DESC(F32, 2, 70, 80)}, FAST},
};

START_TEST(products_of_bf16_agree_with_the_reference)
{
    op_case_holds(&fast[_i], _i);
}
END_TEST

/* The norm of the error over the norm of the sums in f64: one product of bf16 has 2e-3. */
START_TEST(three_products_of_bf16_are_nearly_one_of_f32)
{
    enum { M = 64, N = 80, K = 128 };
    static float a[M * K], b[N * K], y[M * N];
    const matmul_attr attr = {.transpose_b = 1, .fast = 1};
    const tutti_desc in[2] = {DESC(F32, 2, M, K), DESC(F32, 2, N, K)};
    const tutti_desc out = DESC(F32, 2, M, N);
    const tutti_op_call c = {sizeof c, 2, 1, 2, in, &out, &attr, NULL, NULL, NULL};
    const void *const inputs[2] = {a, b};
    void *const outputs[1] = {y}, *state = NULL;
    uint64_t bytes = 0;
    uint32_t noise = 1;
    double wrong = 0.0, right = 0.0;
    for (int k = 0; k < M * K; k++)
        a[k] = (float)((noise = noise * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1.0f;
    for (int k = 0; k < N * K; k++)
        b[k] = (float)((noise = noise * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1.0f;
    uint32_t algorithm = 0;
    while (!strstr(matmul_algorithms.name(&c, algorithm), "three of bf16"))
        algorithm++;
    const tutti_status s = matmul_algorithms.prepare(&c, algorithm, &state, &bytes, NULL);
    if (s == TUTTI_E_UNSUPPORTED) {
        tutti_skip("the CPU has no AVX-512");
        return;
    }
    ck_assert_int_eq(s, TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    ck_assert_int_eq(matmul_cpu.run(state, &c, inputs, outputs, scratch), TUTTI_OK);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0.0;
            for (int k = 0; k < K; k++)
                sum += (double)a[i * K + k] * (double)b[j * K + k];
            wrong += (sum - (double)y[i * N + j]) * (sum - (double)y[i * N + j]);
            right += sum * sum;
        }
    }
    free(scratch);
    matmul_cpu.destroy(state);
    ck_assert_double_gt(right, 1.0);
    ck_assert_double_lt(sqrt(wrong / right), 1e-5);
}
END_TEST

/* Every division with every micro-kernel that this CPU has: uneven tiles, several blocks, threads without work. */
static const struct {
    int64_t m, n, k;
    int32_t threads;
} divided[] = {{1, 1, 1, 1},     {3, 33, 5, 3},     {29, 65, 100, 2}, {190, 47, 400, 3},
               {17, 600, 37, 4}, {20, 40, 1700, 4}, {500, 70, 9, 5},  {7, 1100, 30, 2}};

typedef struct ended {
    const float *y;
    int64_t row;
    float *twice;
} ended;

static void write_twice(const void *how, const gemm_part *part)
{
    const ended *e = how;
    for (int64_t i = part->row; i < part->row + part->rows; i++)
        for (int64_t j = part->col; j < part->col + part->cols; j++)
            e->twice[i * e->row + j] +=
                2.0f * part->values[(i - part->row) * part->values_row + j - part->col];
}

static float *noise(int64_t n, uint32_t seed)
{
    float *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1.0f;
    return x;
}

/* The norm of the error over the norm of the sums, and of twice the sums. */
static void product_is_right(const gemm *p, const gemm_data *d, const ended *e)
{
    double wrong = 0.0, right = 0.0;
    int once = 1, own = 1;
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const double got = (double)d->y[i * p->y_row + j];
            double sum = d->bias ? (double)d->bias[j] : 0.0;
            for (int64_t k = 0; k < p->k; k++)
                sum += (double)((const float *)d->a)[i * p->a_row + k * p->a_col] *
                       (double)((const float *)d->b)[k * p->b_row + j * p->b_col];
            wrong += (sum - got) * (sum - got);
            right += sum * sum;
            once &= e->twice[i * p->y_row + j] == 2.0f * d->y[i * p->y_row + j];
        }
        for (int64_t j = p->n; j < p->y_row; j++)
            own &= d->y[i * p->y_row + j] == -7.0f;
    }
    ck_assert(once && own); /* every element had its end, others were let alone */
    ck_assert_double_lt(sqrt(wrong), 1e-6 * sqrt(right));
}

START_TEST(tiles_agree_with_the_definition_however_divided)
{
    enum { APART = 3 };
    const int64_t m = divided[_i].m, n = divided[_i].n, k = divided[_i].k, row = n + APART;
    float *a = noise(m * k, 1), *b = noise(k * n, 2), *bias = noise(n, 3);
    float *y = malloc((size_t)(m * row) * sizeof *y), *twice = calloc((size_t)(m * row), 4);
    const ended e = {y, row, twice};
    ck_assert(y && twice);
    for (int how = 0; gemm_microkernel_at(0, how / 16); how++) {
        const int ta = how & 1, tb = how >> 1 & 1, division = how >> 2 & 3;
        uint64_t bytes = 0;
        gemm p = {.m = m,
                  .n = n,
                  .k = k,
                  .a_row = ta ? 1 : k,
                  .a_col = ta ? m : 1,
                  .b_row = tb ? 1 : n,
                  .b_col = tb ? k : 1,
                  .y_row = row,
                  .threads = divided[_i].threads,
                  .division = division,
                  .microkernel = gemm_microkernel_at(0, how / 16)};
        const gemm_data d = {.a = a,
                             .b = b,
                             .bias = ta ? bias : NULL,
                             .y = y,
                             .epilogue = write_twice,
                             .how = &e};
        ck_assert_int_eq(gemm_plan(&p, &bytes), TUTTI_OK);
        void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
        ck_assert_ptr_nonnull(scratch);
        memset(scratch, 0xFF, bytes); /* NaNs */
        memset(twice, 0, (size_t)(m * row) * sizeof *twice);
        for (int64_t i = 0; i < m * row; i++)
            y[i] = -7.0f;
        gemm_run(&p, &d, scratch);
        product_is_right(&p, &d, &e);
        free(scratch);
    }
    free(a), free(b), free(bias), free(y), free(twice);
}
END_TEST

START_TEST(small_products_agree_with_the_reference_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(activations_agree_with_the_reference_and_differences)
{
    op_case_holds(&acts[_i], _i);
}
END_TEST

START_TEST(products_added_to_something_agree_with_the_reference_and_differences)
{
    op_case_holds(&bias_grads[_i], _i);
}
END_TEST

/* Below 2^26 multiply-adds only a product that may be `fast` has all algorithms. */
static void all_algorithms_hold(const op_case *c, int k)
{
    op_case with = *c;
    with.attr[with.nattr++] = (tutti_attr){"fast", TUTTI_ATTR_I64, 0, 1, 0, NULL, NULL};
    op_case_holds(c, k);
    op_case_holds(&with, k);
}

START_TEST(activations_of_large_products_agree_with_the_reference)
{
    all_algorithms_hold(&large_acts[_i], _i);
}
END_TEST

START_TEST(large_products_agree_with_the_reference)
{
    all_algorithms_hold(&large[_i], _i);
}
END_TEST

static const matmul_attr plain = {.fast = 0}, transposed = {.transpose_a = 1};
static const matmul_attr act_of_nine = {.act = 9}, gelu = {.act = MATMUL_GELU};
static const op_refusal refusals[] = {
    {{DESC(F32, 1, 3), DESC(F32, 2, 3, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3), want rank 2 or more"},
    {{DESC(F32, 2, 3, 4), DESC(I32, 2, 4, 4)},
     2,
     &plain,
     TUTTI_E_ARG,
     "matmul: b is I32 (4, 4), want F32"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 3, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3, 4) with 4 columns, b is F32 (3, 4) with 3 rows"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 4)},
     2,
     &transposed,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (3, 4) with 3 columns, b is F32 (4, 4) with 4 rows, as transposed"},
    {{DESC(F32, 3, 2, 3, 4), DESC(F32, 3, 3, 4, 4)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: a is F32 (2, 3, 4) and b is F32 (3, 4, 4), whose batch dimensions do not "
     "broadcast"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 1, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "matmul: bias is F32 (4), want (5)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5)},
     2,
     &act_of_nine,
     TUTTI_E_RANGE,
     "matmul: act is 9, want 0 (none), 1 (ReLU), 2 (GELU) or 3 (GELU, tanh form)"},
};

static const op_refusal act_refusals[] = {
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5)},
     2,
     &plain,
     TUTTI_E_RANGE,
     "matmul_act: act is 0, want 1 (ReLU), 2 (GELU) or 3 (GELU, tanh form)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 1, 4)},
     3,
     &gelu,
     TUTTI_E_SHAPE,
     "matmul_act: bias is F32 (4), want (5)"},
};

static const op_refusal add_refusals[] = {
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 2, 3, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "matmul_add: c is F32 (3, 4), want the product's F32 (3, 5)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 2, 3, 5), DESC(F32, 1, 3)},
     4,
     &plain,
     TUTTI_E_SHAPE,
     "matmul_add: bias is F32 (3), want (5)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 2, 3, 5)},
     3,
     &gelu,
     TUTTI_E_RANGE,
     "matmul_add: act is 2, want 0"},
};

static const matmul_attr third = {.of = 2};
static const op_refusal bias_grad_refusals[] = {
    {{DESC(F32, 2, 5, 3), DESC(F32, 2, 5, 4), DESC(F32, 2, 4, 3)},
     3,
     &transposed,
     TUTTI_E_SHAPE,
     "matmul_bias_grad: c is F32 (4, 3), want the product's F32 (3, 4)"},
    {{DESC(F32, 2, 5, 3), DESC(F32, 2, 5, 4), DESC(I32, 2, 3, 4)},
     3,
     &transposed,
     TUTTI_E_ARG,
     "matmul_bias_grad: c is I32 (3, 4), want F32"},
    {{DESC(F32, 3, 2, 5, 3), DESC(F32, 3, 2, 5, 4)},
     2,
     &transposed,
     TUTTI_E_SHAPE,
     "matmul_bias_grad: a is F32 (2, 5, 3) and b is F32 (2, 5, 4), want rank 2"},
    {{DESC(F32, 2, 3, 5), DESC(F32, 2, 5, 4)},
     2,
     &third,
     TUTTI_E_RANGE,
     "matmul_bias_grad: of is 2, want 0 (a) or 1 (b)"},
};

static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 2, 3, 5)},
     3,
     &act_of_nine,
     TUTTI_E_RANGE,
     "matmul_act_grad: act is 9, want 1 (ReLU), 2 (GELU) or 3 (GELU, tanh form)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(F32, 2, 3, 4)},
     3,
     &gelu,
     TUTTI_E_SHAPE,
     "matmul_act_grad: x is F32 (3, 4), want the product's F32 (3, 5)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(I32, 2, 3, 5)},
     3,
     &gelu,
     TUTTI_E_ARG,
     "matmul_act_grad: x is I32 (3, 5), want F32"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_matmul, &refusals[_i]);
}
END_TEST

START_TEST(an_activation_that_does_not_fit_is_refused_in_one_sentence)
{
    if (_i < (int)OP_COUNT(act_refusals))
        op_refusal_holds(&tutti_op_matmul_act, &act_refusals[_i]);
    else
        op_refusal_holds(&tutti_op_matmul_act_grad,
                         &grad_refusals[_i - OP_COUNT(act_refusals)]);
}
END_TEST

START_TEST(bias_gradients_that_do_not_fit_are_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_matmul_bias_grad, &bias_grad_refusals[_i]);
}
END_TEST

START_TEST(products_with_a_bias_gradient_agree_with_definition_and_differences)
{
    op_case_holds(&with_sums[_i], _i);
}
END_TEST

static const matmul_attr relu = {.act = MATMUL_RELU};
static const op_refusal mask_refusals[] = {
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(U8, 2, 3, 5)},
     3,
     &relu,
     TUTTI_E_SHAPE,
     "matmul_relu_grad: the mask is U8 (3, 5), want U8 (3, 16)"},
    {{DESC(F32, 2, 3, 4), DESC(F32, 2, 4, 5), DESC(U8, 2, 3, 16)},
     3,
     &plain,
     TUTTI_E_RANGE,
     "matmul_relu_grad: act is 0, want 1 (ReLU)"},
};

START_TEST(a_mask_that_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_matmul_relu_grad, &mask_refusals[_i]);
}
END_TEST

START_TEST(masks_of_relu_agree_with_the_definition)
{
    op_case_holds(&masked[_i], _i);
}
END_TEST

START_TEST(a_sum_that_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_matmul_add, &add_refusals[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("matmul");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_products_agree_with_the_reference_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, tiles_agree_with_the_definition_however_divided, 0,
                        OP_COUNT(divided));
    tcase_add_loop_test(t, products_of_bf16_agree_with_the_reference, 0, OP_COUNT(fast));
    tcase_add_test(t, three_products_of_bf16_are_nearly_one_of_f32);
    tcase_add_loop_test(t, large_products_agree_with_the_reference, 0, OP_COUNT(large));
    tcase_add_loop_test(t, activations_agree_with_the_reference_and_differences, 0,
                        OP_COUNT(acts));
    tcase_add_loop_test(t, products_added_to_something_agree_with_the_reference_and_differences,
                        0, OP_COUNT(bias_grads));
    tcase_add_loop_test(t, activations_of_large_products_agree_with_the_reference, 0,
                        OP_COUNT(large_acts));
    tcase_add_loop_test(t, products_with_a_bias_gradient_agree_with_definition_and_differences,
                        0, OP_COUNT(with_sums));
    tcase_add_loop_test(t, bias_gradients_that_do_not_fit_are_refused_in_one_sentence, 0,
                        OP_COUNT(bias_grad_refusals));
    tcase_add_loop_test(t, masks_of_relu_agree_with_the_definition, 0, OP_COUNT(masked));
    tcase_add_loop_test(t, a_mask_that_does_not_fit_is_refused_in_one_sentence, 0,
                        OP_COUNT(mask_refusals));
    tcase_add_loop_test(t, a_sum_that_does_not_fit_is_refused_in_one_sentence, 0,
                        OP_COUNT(add_refusals));
    tcase_add_loop_test(t, an_activation_that_does_not_fit_is_refused_in_one_sentence, 0,
                        OP_COUNT(act_refusals) + OP_COUNT(grad_refusals));
    tcase_add_loop_test(t, what_does_not_fit_is_refused_in_one_sentence, 0, OP_COUNT(refusals));
    return tutti_run(s);
}
