/* rms_norm_test.c - rms_norm against its definition, differences, numbers by hand; refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rms_norm/rms_norm.h"

#include "common/op_refusal.h"

#define EPS(value)                                                                             \
    {                                                                                          \
        .name = "eps", .type = TUTTI_ATTR_F64, .f = (value)                                    \
    }
/* Two rows' dimensions and what goes with them: x, gamma, or x, dy, gamma, rstd. */
#define GRAD(rows, c)                                                                          \
    DESC(F32, 2, rows, c), DESC(F32, 2, rows, c), DESC(F32, 1, c), DESC(F32, 1, rows)

static const op_case cases[] = {
    {.op = "rms_norm", .nin = 2, .in = {DESC(F32, 3, 2, 3, 5), DESC(F32, 1, 5)}},
    {.op = "rms_norm",
     .nin = 2,
     .in = {DESC(F32, 2, 4, 17), DESC(F32, 1, 17)},
     .nattr = 1,
     .attr = {EPS(0.3)}},
    {.op = "rms_norm", .nin = 2, .in = {DESC(F32, 1, 6), DESC(F32, 1, 6)}},
    {.op = "rms_norm",
     .nin = 2,
     .in = {DESC(F32, 2, 3, 1), DESC(F32, 1, 1)},
     .nattr = 1,
     .attr = {EPS(0.5)}},
    {.op = "rms_norm", .nin = 2, .in = {DESC(F32, 2, 0, 4), DESC(F32, 1, 4)}},
    {.op = "rms_norm_grad",
     .nin = 4,
     .in = {DESC(F32, 3, 2, 2, 5), DESC(F32, 3, 2, 2, 5), DESC(F32, 1, 5), DESC(F32, 2, 2, 2)},
     .no_grad = 15},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(0, 5)}, .no_grad = 15},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(1, 1)}, .no_grad = 15},
    /* with something to add to dx */
    {.op = "rms_norm_grad", .nin = 5, .in = {GRAD(5, 6), DESC(F32, 2, 5, 6)}, .no_grad = 31},
    {.op = "rms_norm_grad", .nin = 5, .in = {GRAD(0, 6), DESC(F32, 2, 0, 6)}, .no_grad = 31},
    {.op = "rms_norm_grad",
     .nin = 5,
     .in = {GRAD(67, 264), DESC(F32, 2, 67, 264)},
     .no_grad = 31},
};

/* Several threads, several blocks of rows, whole and broken groups of columns, rows of a block. */
static const op_case large[] = {
    {.op = "rms_norm",
     .nin = 2,
     .in = {DESC(F32, 3, 7, 33, 384), DESC(F32, 1, 384)},
     .no_grad = 3},
    {.op = "rms_norm",
     .nin = 2,
     .in = {DESC(F32, 2, 501, 131), DESC(F32, 1, 131)},
     .no_grad = 3},
    {.op = "rms_norm",
     .nin = 2,
     .in = {DESC(F32, 2, 5, 2051), DESC(F32, 1, 2051)},
     .no_grad = 3},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(231, 384)}, .no_grad = 15},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(501, 131)}, .no_grad = 15},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(9, 40)}, .no_grad = 15},
    {.op = "rms_norm_grad", .nin = 4, .in = {GRAD(3, 2056)}, .no_grad = 15},
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

/* The mean square of (3, 4, 0, 0, 0) is 5; nothing is subtracted. */
START_TEST(a_row_is_divided_by_its_root_mean_square)
{
    const float x[5] = {3, 4, 0, 0, 0}, gamma[5] = {1, 2, 3, 4, 5};
    float y[5], rstd;
    TUTTI_ISA_PICK(rms_norm_forward)(x, gamma, 0.0, y, 1, 5, &rstd);
    ck_assert_close(rstd, 1 / sqrt(5), 1e-7);
    ck_assert_close(y[0], 3 / sqrt(5), 1e-6);
    ck_assert_close(y[1], 8 / sqrt(5), 1e-6);
    ck_assert_close(y[2], 0, 0.0);
}
END_TEST

static const rms_norm_attr plain = {1e-6};
static const op_refusal refusals[] = {
    {{DESC(F32, 0, 0), DESC(F32, 1, 3)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "rms_norm: x is F32 (), want rank 1 or more and no empty rows"},
    {{DESC(F16, 2, 2, 3), DESC(F32, 1, 3)},
     2,
     &plain,
     TUTTI_E_ARG,
     "rms_norm: x is F16 (2, 3), want F32"},
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 3)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "rms_norm: gamma is F32 (3), want F32 (4)"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 2)},
     4,
     NULL,
     TUTTI_E_SHAPE,
     "rms_norm_grad: dy is F32 (1, 3), want F32 (2, 3)"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F64, 1, 2)},
     4,
     NULL,
     TUTTI_E_ARG,
     "rms_norm_grad: rstd is F64 (2), want F32"},
    {{GRAD(2, 3), DESC(F32, 1, 3)},
     5,
     NULL,
     TUTTI_E_SHAPE,
     "rms_norm_grad: more is F32 (3), want F32 (2, 3)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_rms_norm, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_rms_norm_grad, &grad_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rms_norm");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_rows_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, long_rows_agree_with_the_definition, 0, OP_COUNT(large));
    tcase_add_test(t, a_row_is_divided_by_its_root_mean_square);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
