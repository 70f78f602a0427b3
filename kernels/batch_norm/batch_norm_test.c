/* batch_norm_test.c - batch_norm in training and evaluation against definition and differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include "common/op_refusal.h"

#define ATTR(name_, value)                                                                     \
    {                                                                                          \
        .name = (name_), .type = TUTTI_ATTR_F64, .f = (value)                                  \
    }
/* x and four of its channels; running variances are positive */
#define FOUR(c) DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c)
#define POSITIVE .low = {0, 0, 0, 0, 0.5}, .high = {0, 0, 0, 0, 2}

static const op_case cases[] = {
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 4, 2, 3, 2, 3), FOUR(3)},
     .nattr = 2,
     .attr = {ATTR("momentum", 0.3), ATTR("eps", 0.1)},
     POSITIVE},
    {.op = "batch_norm", .nin = 5, .in = {DESC(F32, 2, 7, 2), FOUR(2)}, POSITIVE},
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 2, 1, 2), FOUR(2)},
     .nattr = 1,
     .attr = {ATTR("eps", 0.5)},
     POSITIVE},
    {.op = "batch_norm", .nin = 5, .in = {DESC(F32, 2, 0, 2), FOUR(2)}, POSITIVE},
    {.op = "batch_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 3, 3, 2, 3), DESC(F32, 3, 3, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
            DESC(F32, 1, 3)},
     POSITIVE,
     .no_grad = 31},
    {.op = "batch_norm_eval", .nin = 5, .in = {DESC(F32, 4, 2, 1, 2, 3), FOUR(3)}, POSITIVE},
    {.op = "batch_norm_eval", .nin = 5, .in = {DESC(F32, 2, 0, 3), FOUR(3)}, POSITIVE},
};

/* Several threads, whole and broken groups of channels. */
#define ALONE .no_grad = 31
static const op_case large[] = {
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 4, 9, 16, 16, 16), FOUR(16)},
     POSITIVE,
     ALONE},
    {.op = "batch_norm", .nin = 5, .in = {DESC(F32, 2, 1999, 37), FOUR(37)}, POSITIVE, ALONE},
    {.op = "batch_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 1700, 48), DESC(F32, 2, 1700, 48), DESC(F32, 1, 48), DESC(F32, 1, 48),
            DESC(F32, 1, 48)},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 1999, 19), DESC(F32, 2, 1999, 19), DESC(F32, 1, 19), DESC(F32, 1, 19),
            DESC(F32, 1, 19)},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_eval",
     .nin = 5,
     .in = {DESC(F32, 2, 1999, 37), FOUR(37)},
     POSITIVE,
     ALONE},
};

START_TEST(small_normalisations_agree_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(long_normalisations_agree_with_the_definition)
{
    op_case_holds(&large[_i], _i);
}
END_TEST

/* x = 10000 + (-1, 0, 1): the variance is 2/3 and must not drown in the mean's square. */
START_TEST(a_mean_far_from_zero_leaves_the_variance_alone)
{
    const tutti_desc x = DESC(F32, 2, 3, 1), one = DESC(F32, 1, 1);
    const tutti_desc in[5] = {x, one, one, one, one}, out[5] = {x, one, one, one, one};
    const batch_norm_attr attr = {0.0, 0.5};
    const tutti_op_call c = {sizeof c, 5, 5, 1, in, out, &attr, NULL};
    const float xs[3] = {9999, 10000, 10001}, gamma = 2, beta = 1, mean = 0, var = 3;
    const void *ins[5] = {xs, &gamma, &beta, &mean, &var};
    float y[3], saved_mean, invstd, new_mean, new_var;
    void *outs[5] = {y, &saved_mean, &invstd, &new_mean, &new_var};
    double scratch[16];
    ck_assert_int_eq(tutti_op_batch_norm.cpu->run(NULL, &c, ins, outs, scratch), TUTTI_OK);
    ck_assert_close(saved_mean, 10000, 0.0);
    ck_assert_close(invstd, sqrt(1.5), 1e-6);
    ck_assert_close(new_mean, 5000, 0.0);
    ck_assert_close(new_var, 0.5 * 3 + 0.5 * 1.0, 1e-6);
    ck_assert_close(y[0], 1 - 2 * sqrt(1.5), 1e-6);
    ck_assert_close(y[2], 1 + 2 * sqrt(1.5), 1e-6);
}
END_TEST

/* The same numbers whatever the machine's load: the threads' sums are added in order. */
START_TEST(two_runs_on_several_threads_give_the_same_bits)
{
    enum { ROWS = 6000, C = 16 };
    const tutti_desc x = DESC(F32, 2, ROWS, C), one = DESC(F32, 1, C);
    const tutti_desc in[5] = {x, one, one, one, one}, out[5] = {x, one, one, one, one};
    const batch_norm_attr attr = {1e-5, 0.1};
    const tutti_op_call c = {sizeof c, 5, 5, 3, in, out, &attr, NULL};
    static float xs[ROWS * C], y[2][ROWS * C];
    float channel[C], stat[2][4][C];
    static double scratch[C * 8];
    for (int k = 0; k < ROWS * C; k++)
        xs[k] = (float)((k * 7919) % 1000) * 0.37f;
    for (int k = 0; k < C; k++)
        channel[k] = 1.0f;
    for (int k = 0; k < 2; k++) {
        const void *ins[5] = {xs, channel, channel, channel, channel};
        void *outs[5] = {y[k], stat[k][0], stat[k][1], stat[k][2], stat[k][3]};
        ck_assert_int_eq(tutti_op_batch_norm.cpu->run(NULL, &c, ins, outs, scratch), TUTTI_OK);
    }
    ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
    ck_assert_mem_eq(stat[0], stat[1], sizeof stat[0]);
}
END_TEST

static const batch_norm_attr plain = {1e-5, 0.1};
static const op_refusal refusals[] = {
    {{DESC(F32, 0, 0), FOUR(3)},
     5,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm: x is F32 (), want rank 1 or more"},
    {{DESC(F16, 2, 2, 3), FOUR(3)},
     5,
     &plain,
     TUTTI_E_ARG,
     "batch_norm: x is F16 (2, 3), want F32"},
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 3), DESC(F32, 1, 4), DESC(F32, 1, 4)},
     5,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm: beta is F32 (3), want (4)"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
      DESC(F32, 1, 3)},
     5,
     NULL,
     TUTTI_E_SHAPE,
     "batch_norm_grad: x is F32 (2, 3) and dy is F32 (1, 3), want the same shape"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
      DESC(F64, 1, 3)},
     5,
     NULL,
     TUTTI_E_ARG,
     "batch_norm_grad: invstd is F64 (3), want F32"},
};
static const op_refusal eval_refusals[] = {
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 4), DESC(F32, 1, 4),
      DESC(F32, 2, 1, 4)},
     5,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm_eval: var is F32 (1, 4), want (4)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm_grad, &grad_refusals[k]);
    for (int k = 0; k < OP_COUNT(eval_refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm_eval, &eval_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("batch_norm");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_normalisations_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, long_normalisations_agree_with_the_definition, 0, OP_COUNT(large));
    tcase_add_test(t, a_mean_far_from_zero_leaves_the_variance_alone);
    tcase_add_test(t, two_runs_on_several_threads_give_the_same_bits);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
