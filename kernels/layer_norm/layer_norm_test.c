/* layer_norm_test.c - layer_norm against its definition, differences, numbers by hand; refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_norm/layer_norm.h"

#include "common/half_rows.h"
#include "common/op_refusal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS(value)                                                                             \
    {                                                                                          \
        .name = "eps", .type = TUTTI_ATTR_F64, .f = (value)                                    \
    }
#define ROW(c) DESC(F32, 1, c), DESC(F32, 1, c)

static const op_case cases[] = {
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 3, 2, 3, 5), ROW(5)}},
    {.op = "layer_norm",
     .nin = 3,
     .in = {DESC(F32, 2, 4, 17), ROW(17)},
     .nattr = 1,
     .attr = {EPS(0.3)}},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 1, 6), ROW(6)}},
    {.op = "layer_norm",
     .nin = 3,
     .in = {DESC(F32, 2, 3, 1), ROW(1)},
     .nattr = 1,
     .attr = {EPS(0.5)}},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 0, 4), ROW(4)}},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 3, 2, 2, 5), DESC(F32, 3, 2, 2, 5), DESC(F32, 1, 5), DESC(F32, 2, 2, 2),
            DESC(F32, 2, 2, 2)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 0, 5), DESC(F32, 2, 0, 5), DESC(F32, 1, 5), DESC(F32, 1, 0),
            DESC(F32, 1, 0)},
     .no_grad = 31},
};

/* With something to add: whole columns, broken ones, what a device does not hold. */
#define MORE(...)                                                                              \
    {                                                                                          \
        .op = "layer_norm_grad", .nin = 6, .in = {__VA_ARGS__}, .no_grad = 63                  \
    }
static const op_case with_more[] = {
    MORE(DESC(F32, 2, 5, 6), DESC(F32, 2, 5, 6), DESC(F32, 1, 6), DESC(F32, 1, 5),
         DESC(F32, 1, 5), DESC(F32, 2, 5, 6)),
    MORE(DESC(F32, 2, 0, 6), DESC(F32, 2, 0, 6), DESC(F32, 1, 6), DESC(F32, 1, 0),
         DESC(F32, 1, 0), DESC(F32, 2, 0, 6)),
    MORE(DESC(F32, 2, 67, 264), DESC(F32, 2, 67, 264), DESC(F32, 1, 264), DESC(F32, 1, 67),
         DESC(F32, 1, 67), DESC(F32, 2, 67, 264)),
    MORE(DESC(F32, 2, 5, 768), DESC(F32, 2, 5, 768), DESC(F32, 1, 768), DESC(F32, 1, 5),
         DESC(F32, 1, 5), DESC(F32, 2, 5, 768)),
    MORE(DESC(F32, 2, 3, 1000), DESC(F32, 2, 3, 1000), DESC(F32, 1, 1000), DESC(F32, 1, 3),
         DESC(F32, 1, 3), DESC(F32, 2, 3, 1000)),
    MORE(DESC(F32, 3, 3, 167, 131), DESC(F32, 3, 3, 167, 131), DESC(F32, 1, 131),
         DESC(F32, 2, 3, 167), DESC(F32, 2, 3, 167), DESC(F32, 3, 3, 167, 131)),
};

/* With y, or dx, once more, in 16 bits on a device. */
#define CAST_ROW(...)                                                                          \
    {                                                                                          \
        .op = "layer_norm_cast", .nin = 3, .in = {__VA_ARGS__}, .no_grad = 7                   \
    }
#define CAST(n, ...)                                                                           \
    {                                                                                          \
        .op = "layer_norm_grad_cast", .nin = (n), .in = {__VA_ARGS__}, .no_grad = 63           \
    }
static const op_case with_cast[] = {
    CAST_ROW(DESC(F32, 2, 5, 6), ROW(6)),
    CAST_ROW(DESC(F32, 2, 0, 6), ROW(6)),
    CAST_ROW(DESC(F32, 3, 7, 33, 384), ROW(384)),
    CAST_ROW(DESC(F32, 2, 5, 768), ROW(768)),
    CAST_ROW(DESC(F32, 2, 3, 2056), ROW(2056)),
    CAST_ROW(DESC(F32, 2, 2, 2051), ROW(2051)),
    CAST(5, DESC(F32, 2, 5, 6), DESC(F32, 2, 5, 6), DESC(F32, 1, 6), DESC(F32, 1, 5),
         DESC(F32, 1, 5)),
    CAST(6, DESC(F32, 2, 0, 6), DESC(F32, 2, 0, 6), DESC(F32, 1, 6), DESC(F32, 1, 0),
         DESC(F32, 1, 0), DESC(F32, 2, 0, 6)),
    CAST(6, DESC(F32, 2, 67, 264), DESC(F32, 2, 67, 264), DESC(F32, 1, 264), DESC(F32, 1, 67),
         DESC(F32, 1, 67), DESC(F32, 2, 67, 264)),
    CAST(6, DESC(F32, 2, 5, 768), DESC(F32, 2, 5, 768), DESC(F32, 1, 768), DESC(F32, 1, 5),
         DESC(F32, 1, 5), DESC(F32, 2, 5, 768)),
    CAST(5, DESC(F32, 2, 3, 1000), DESC(F32, 2, 3, 1000), DESC(F32, 1, 1000), DESC(F32, 1, 3),
         DESC(F32, 1, 3)),
    CAST(6, DESC(F32, 3, 3, 167, 131), DESC(F32, 3, 3, 167, 131), DESC(F32, 1, 131),
         DESC(F32, 2, 3, 167), DESC(F32, 2, 3, 167), DESC(F32, 3, 3, 167, 131)),
};

/* Several threads, several blocks of rows, whole and broken groups of columns. */
static const op_case large[] = {
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 3, 7, 33, 384), ROW(384)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 501, 131), ROW(131)}, .no_grad = 7},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 3, 7, 33, 384), DESC(F32, 3, 7, 33, 384), DESC(F32, 1, 384),
            DESC(F32, 2, 7, 33), DESC(F32, 2, 7, 33)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 501, 131), DESC(F32, 2, 501, 131), DESC(F32, 1, 131),
            DESC(F32, 1, 501), DESC(F32, 1, 501)},
     .no_grad = 31},
    /* what a device holds in 1, 3, 4 and 8 registers a thread, and what it does not */
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 9, 40), ROW(40)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 5, 768), ROW(768)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 3, 1000), ROW(1000)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 3, 1600), ROW(1600)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 3, 2056), ROW(2056)}, .no_grad = 7},
    {.op = "layer_norm", .nin = 3, .in = {DESC(F32, 2, 2, 2051), ROW(2051)}, .no_grad = 7},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 9, 40), DESC(F32, 2, 9, 40), DESC(F32, 1, 40), DESC(F32, 1, 9),
            DESC(F32, 1, 9)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 67, 264), DESC(F32, 2, 67, 264), DESC(F32, 1, 264), DESC(F32, 1, 67),
            DESC(F32, 1, 67)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 5, 768), DESC(F32, 2, 5, 768), DESC(F32, 1, 768), DESC(F32, 1, 5),
            DESC(F32, 1, 5)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 3, 1000), DESC(F32, 2, 3, 1000), DESC(F32, 1, 1000), DESC(F32, 1, 3),
            DESC(F32, 1, 3)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 3, 1600), DESC(F32, 2, 3, 1600), DESC(F32, 1, 1600), DESC(F32, 1, 3),
            DESC(F32, 1, 3)},
     .no_grad = 31},
    {.op = "layer_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 3, 1027), DESC(F32, 2, 3, 1027), DESC(F32, 1, 1027), DESC(F32, 1, 3),
            DESC(F32, 1, 3)},
     .no_grad = 31},
};

START_TEST(small_rows_agree_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(long_rows_agree_with_the_definition)
{
    op_case_holds(&large[_i], _i);
}
END_TEST

START_TEST(what_is_to_be_added_is)
{
    op_case_holds(&with_more[_i], _i);
}
END_TEST

START_TEST(a_result_is_given_twice)
{
    op_case_holds(&with_cast[_i], _i);
}
END_TEST

/* x = 10000 + (-1, 0, 1): the variance is 2/3 and must not drown in the mean's square. */
START_TEST(a_mean_far_from_zero_leaves_the_variance_alone)
{
    const float x[3] = {9999, 10000, 10001}, gamma[3] = {2, 2, 2}, beta[3] = {1, 0, -1};
    float y[3], mean, rstd;
    const layer_norm_part q = {.x = x,
                               .gamma = gamma,
                               .beta = beta,
                               .y = y,
                               .mean = &mean,
                               .rstd = &rstd,
                               .n = 3,
                               .x_dtype = TUTTI_F32,
                               .y_dtype = TUTTI_F32};
    TUTTI_ISA_PICK(layer_norm_forward)(&q, 0, 1);
    ck_assert_close(mean, 10000, 0.0);
    ck_assert_close(rstd, sqrt(1.5), 1e-6);
    ck_assert_close(y[0], 1 - 2 * sqrt(1.5), 1e-6);
    ck_assert_close(y[1], 0, 0.0);
    ck_assert_close(y[2], 2 * sqrt(1.5) - 1, 1e-6);
}
END_TEST

static const layer_norm_attr plain = {1e-5};
static const op_refusal refusals[] = {
    {{DESC(F32, 0, 0), ROW(3)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "layer_norm: x is F32 (), want rank 1 or more and no empty rows"},
    {{DESC(F32, 2, 3, 0), ROW(0)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "layer_norm: x is F32 (3, 0), want rank 1 or more and no empty rows"},
    {{DESC(F16, 2, 2, 3), ROW(3)},
     3,
     &plain,
     TUTTI_E_ARG,
     "layer_norm: x is F16 (2, 3), want F32"},
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 3)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "layer_norm: beta is F32 (3), want F32 (4)"},
};
static const op_refusal cast_refusals[] = {
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 3), DESC(F32, 1, 4)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "layer_norm_cast: gamma is F32 (3), want F32 (4)"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 2),
      DESC(F32, 1, 2)},
     5,
     NULL,
     TUTTI_E_SHAPE,
     "layer_norm_grad: dy is F32 (1, 3), want F32 (2, 3)"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 2),
      DESC(F64, 1, 2)},
     5,
     NULL,
     TUTTI_E_ARG,
     "layer_norm_grad: rstd is F64 (2), want F32 (2)"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 2), DESC(F32, 1, 2),
      DESC(F32, 1, 3)},
     6,
     NULL,
     TUTTI_E_SHAPE,
     "layer_norm_grad: more is F32 (3), want F32 (2, 3)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_layer_norm, &refusals[k]);
    for (int k = 0; k < OP_COUNT(cast_refusals); k++)
        op_refusal_holds(&tutti_op_layer_norm_cast, &cast_refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_layer_norm_grad, &grad_refusals[k]);
}
END_TEST

/* ---- 16 bits ---- */

/* A call's operands and results, each as F32 and in the dtype that it has. */
enum { MOST = 6, OPERANDS = MOST + 4 };
typedef struct trial {
    const tutti_op *op;
    tutti_desc desc[OPERANDS], wide[OPERANDS]; /* results from MOST on */
    void *data[OPERANDS];
    float *f32[OPERANDS];
    int64_t threads;
} trial;

static float number(int64_t i, int k)
{
    const uint32_t mixed = ((uint32_t)i * 2654435761u) ^ ((uint32_t)k * 40503u);
    const float x = (float)((int32_t)(mixed * 1664525u + 1013904223u) >> 8) * 0x1p-22f;
    return k == 2 && i % 7 == 3 ? x * 1e-39f : x; /* gamma makes some results subnormal */
}

static void put(const float *from, int32_t dtype, void *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (dtype == TUTTI_F32)
            ((float *)to)[i] = from[i];
        else
            ((uint16_t *)to)[i] =
                dtype == TUTTI_BF16 ? half_to_bf16(from[i]) : half_to_f16(from[i]);
}

/* Operand or result k of this shape. */
static void take(trial *t, int k, tutti_desc shape, int32_t dtype)
{
    const int64_t n = tutti_numel(&shape);
    t->wide[k] = t->desc[k] = shape;
    t->wide[k].dtype = TUTTI_F32;
    t->desc[k].dtype = dtype;
    t->f32[k] = calloc((size_t)n + 16, sizeof(float));
    t->data[k] = calloc((size_t)n + 16, sizeof(float));
    ck_assert(t->f32[k] && t->data[k]);
    for (int64_t i = 0; i < n && k < MOST; i++)
        t->f32[k][i] = number(i, k);
    if (k == 4) /* a deviation's inverse */
        for (int64_t i = 0; i < n; i++)
            t->f32[k][i] = 0.5f + fabsf(t->f32[k][i]);
    put(t->f32[k], dtype, t->data[k], n);
    if (half_is(dtype)) /* what is read of it */
        half_upcast(t->data[k], dtype, t->f32[k], n);
}

static void run(const trial *t, uint32_t nin, const tutti_desc *desc, void *const *data)
{
    const layer_norm_attr attr = {1e-5};
    const tutti_step step = {.struct_size = sizeof step};
    const tutti_op_call c = {sizeof c, nin,         t->op->nout, (int32_t)t->threads,
                             desc,     desc + MOST, &attr,       &step,
                             NULL,     NULL};
    const void *in[MOST];
    void *state = NULL;
    uint64_t bytes = 0;
    memcpy(in, data, sizeof in);
    ck_assert_int_eq(t->op->cpu->prepare(&c, &state, &bytes, NULL), TUTTI_OK);
    void *scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    ck_assert_ptr_nonnull(scratch);
    memset(scratch, 0xFF, bytes); /* NaNs */
    ck_assert_int_eq(t->op->cpu->run(state, &c, in, data + MOST, scratch), TUTTI_OK);
    free(scratch);
}

/* The bits of a run on F32, rounded behind it. */
static void check_trial(trial *t, uint32_t nin)
{
    run(t, nin, t->desc, t->data);
    run(t, nin, t->wide, (void *const *)t->f32);
    for (uint32_t k = MOST; k < MOST + t->op->nout; k++) {
        const int64_t n = tutti_numel(&t->desc[k]);
        void *want = calloc((size_t)n + 1, sizeof(float));
        ck_assert_ptr_nonnull(want);
        put(t->f32[k], t->desc[k].dtype, want, n);
        ck_assert_mem_eq(t->data[k], want, (size_t)n * (half_is(t->desc[k].dtype) ? 2 : 4));
        free(want);
    }
    for (int k = 0; k < OPERANDS; k++)
        free(t->f32[k]), free(t->data[k]);
}

static const int64_t trials[][2] = {{1, 1},   {3, 5},    {4, 16},  {9, 17},   {501, 131},
                                    {7, 768}, {5, 1027}, {70, 64}, {333, 384}};
static const int32_t dtypes[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};

START_TEST(sixteen_bits_have_the_bits_of_conversions)
{
    const tutti_desc x = {{trials[_i][0], trials[_i][1]}, 2, TUTTI_F32},
                     row = {{trials[_i][1]}, 1, TUTTI_F32},
                     column = {{trials[_i][0]}, 1, TUTTI_F32};
    for (int how = 0; how < 36; how++) { /* x, y and, from 9 on, y once more */
        trial t = {.op = how < 9 ? &tutti_op_layer_norm : &tutti_op_layer_norm_cast,
                   .threads = 1 + how % 3};
        take(&t, 0, x, dtypes[how % 3]);
        take(&t, 1, row, TUTTI_F32);
        take(&t, 2, row, TUTTI_F32);
        take(&t, MOST, x, dtypes[how / 3 % 3]);
        take(&t, MOST + 1, column, TUTTI_F32);
        take(&t, MOST + 2, column, TUTTI_F32);
        take(&t, MOST + 3, x, dtypes[how / 9 % 3]);
        check_trial(&t, 3);
    }
}
END_TEST

/* Digits of `how` in base 3: x, dy, more, dx, low. */
START_TEST(gradients_in_sixteen_bits_have_the_bits_of_conversions)
{
    const tutti_desc x = {{trials[_i][0], trials[_i][1]}, 2, TUTTI_F32},
                     row = {{trials[_i][1]}, 1, TUTTI_F32},
                     column = {{trials[_i][0]}, 1, TUTTI_F32};
    for (int how = 0; how<243; how += trials[_i][0]> 100 ? 7 : 1) {
        trial t = {.op = how / 81 ? &tutti_op_layer_norm_grad_cast : &tutti_op_layer_norm_grad,
                   .threads = 1 + how % 4};
        take(&t, 0, x, dtypes[how % 3]);
        take(&t, 1, x, dtypes[how / 3 % 3]);
        take(&t, 2, row, TUTTI_F32);
        take(&t, 3, column, TUTTI_F32);
        take(&t, 4, column, TUTTI_F32);
        take(&t, 5, x, dtypes[how / 9 % 3]);
        take(&t, MOST, x, dtypes[how / 27 % 3]);
        take(&t, MOST + 1, row, TUTTI_F32);
        take(&t, MOST + 2, row, TUTTI_F32);
        take(&t, MOST + 3, x, dtypes[how / 81]);
        check_trial(&t, how % 2 ? 6 : 5);
    }
}
END_TEST

/* Beside an x of one dimension. */
START_TEST(weights_may_have_sixteen_bits)
{
    const tutti_desc row = {{37}, 1, TUTTI_F32}, number = {{0}, 0, TUTTI_F32};
    trial t = {.op = &tutti_op_layer_norm, .threads = 1};
    for (int k = 0; k < 3; k++)
        take(&t, k, row, TUTTI_BF16);
    take(&t, MOST, row, TUTTI_BF16);
    take(&t, MOST + 1, number, TUTTI_F32);
    take(&t, MOST + 2, number, TUTTI_F32);
    check_trial(&t, 3);
    trial g = {.op = &tutti_op_layer_norm_grad, .threads = 1};
    for (int k = 0; k < 3; k++)
        take(&g, k, row, TUTTI_BF16);
    take(&g, 3, number, TUTTI_F32);
    take(&g, 4, number, TUTTI_F32);
    take(&g, MOST, row, TUTTI_F32);
    take(&g, MOST + 1, row, TUTTI_F32);
    take(&g, MOST + 2, row, TUTTI_F32);
    check_trial(&g, 5);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("layer_norm");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_rows_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, long_rows_agree_with_the_definition, 0, OP_COUNT(large));
    tcase_add_loop_test(t, what_is_to_be_added_is, 0, OP_COUNT(with_more));
    tcase_add_loop_test(t, a_result_is_given_twice, 0, OP_COUNT(with_cast));
    tcase_add_test(t, a_mean_far_from_zero_leaves_the_variance_alone);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    tcase_add_loop_test(t, sixteen_bits_have_the_bits_of_conversions, 0, OP_COUNT(trials));
    tcase_add_loop_test(t, gradients_in_sixteen_bits_have_the_bits_of_conversions, 0,
                        OP_COUNT(trials));
    tcase_add_test(t, weights_may_have_sixteen_bits);
    return tutti_run(s);
}
