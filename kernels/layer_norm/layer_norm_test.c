/* layer_norm_test.c - layer_norm against its definition, differences, numbers by hand; refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_norm/layer_norm.h"

#include "common/op_refusal.h"

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

/* With dx once more, in 16 bits on a device. */
#define CAST(n, ...)                                                                           \
    {                                                                                          \
        .op = "layer_norm_grad_cast", .nin = (n), .in = {__VA_ARGS__}, .no_grad = 63           \
    }
static const op_case with_cast[] = {
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

START_TEST(a_gradient_is_given_twice)
{
    op_case_holds(&with_cast[_i], _i);
}
END_TEST

/* x = 10000 + (-1, 0, 1): the variance is 2/3 and must not drown in the mean's square. */
START_TEST(a_mean_far_from_zero_leaves_the_variance_alone)
{
    const float x[3] = {9999, 10000, 10001}, gamma[3] = {2, 2, 2}, beta[3] = {1, 0, -1};
    float y[3], mean, rstd;
    TUTTI_ISA_PICK(layer_norm_forward)(x, gamma, beta, 0.0, y, 1, 3, &mean, &rstd);
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
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_layer_norm_grad, &grad_refusals[k]);
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
    tcase_add_loop_test(t, a_gradient_is_given_twice, 0, OP_COUNT(with_cast));
    tcase_add_test(t, a_mean_far_from_zero_leaves_the_variance_alone);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
