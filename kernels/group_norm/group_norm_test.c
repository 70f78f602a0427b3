/* group_norm_test.c - group_norm against its definition, differences and PyTorch's numbers; refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "group_norm/group_norm.h"

#include "common/op_refusal.h"

#define SETTINGS(n, value)                                                                     \
    {                                                                                          \
        {.name = "groups", .type = TUTTI_ATTR_I64, .i = (n)},                                  \
        {                                                                                      \
            .name = "eps", .type = TUTTI_ATTR_F64, .f = (value)                                \
        }                                                                                      \
    }
#define ROW(c) DESC(F32, 1, c), DESC(F32, 1, c)
#define NORM(groups, row, ...)                                                                 \
    {                                                                                          \
        .op = "group_norm", .nin = 3, .in = {__VA_ARGS__, ROW(row)}, .nattr = 2,               \
        .attr = SETTINGS(groups, 0.1)                                                          \
    }
#define GRAD(groups, row, x)                                                                   \
    {                                                                                          \
        .op = "group_norm_grad", .nin = 3, .in = {x, x, DESC(F32, 1, row)}, .nattr = 2,        \
        .attr = SETTINGS(groups, 0.1), .no_grad = 7                                            \
    }

static const op_case cases[] = {
    NORM(2, 6, DESC(F32, 4, 2, 3, 2, 6)), NORM(1, 5, DESC(F32, 3, 2, 3, 5)),
    NORM(4, 4, DESC(F32, 3, 2, 5, 4)),    NORM(3, 6, DESC(F32, 2, 4, 6)),
    NORM(2, 4, DESC(F32, 3, 0, 3, 4)),    NORM(2, 4, DESC(F32, 3, 2, 0, 4)),
};
#define X1 DESC(F32, 4, 2, 2, 2, 6)
#define X2 DESC(F32, 2, 3, 4)
#define X3 DESC(F32, 3, 2, 0, 4)
static const op_case grads[] = {GRAD(3, 6, X1), GRAD(2, 4, X2), GRAD(2, 4, X3)};

/* Several threads; what a device gives to a warp and to a block, eight columns at a time and one. */
#define X4 DESC(F32, 4, 3, 17, 19, 32)
#define X5 DESC(F32, 3, 5, 67, 33)
#define X6 DESC(F32, 3, 4, 9, 24)
static const op_case large[] = {
    {.op = "group_norm",
     .nin = 3,
     .in = {X4, ROW(32)},
     .nattr = 2,
     .attr = SETTINGS(4, 1e-5),
     .no_grad = 7},
    {.op = "group_norm",
     .nin = 3,
     .in = {X5, ROW(33)},
     .nattr = 2,
     .attr = SETTINGS(3, 1e-5),
     .no_grad = 7},
    GRAD(4, 32, X4),
    GRAD(3, 33, X5),
    GRAD(8, 24, X6),
};

START_TEST(small_groups_agree_with_definition_and_differences)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

START_TEST(gradients_agree_with_the_definition)
{
    op_case_holds(&grads[_i], _i);
}
END_TEST

START_TEST(large_groups_agree_with_the_definition)
{
    op_case_holds(&large[_i], _i);
}
END_TEST

/* ---- PyTorch 2.7.0: torch.nn.functional.group_norm of (2, 4, 3) in 2 groups, eps 1e-5, in f64; its
 * channels are the last dimension here ---- */

enum { B = 2, P = 3, C = 4, N = B * P * C };

static const double want_y[N] = {
    0.123327722,   0.207426393,  0.12306358,   0.109731734,  -0.31457701,  0.338029558,
    -0.734331139,  -0.193688986, 0.188547576,  0.187974857,  0.0119198204, 0.154922054,
    0.00282391206, 0.270096352,  -0.721722177, -0.241904523, -0.548928636, 0.081029969,
    0.159145926,   0.169592898,  0.0849998235, 0.245587747,  -0.852915299, -0.188562265};
static const double want_dx[N] = {
    -0.0121028073, 0.117128818,   -0.166680749, -0.125128123,  -0.316578604,  0.100503053,
    0.184902356,   0.566990123,   0.0332446518, 0.0778048884,  -0.328985157,  -0.131098451,
    -0.224158236,  -0.0900548405, 0.14875468,   0.166501728,   0.216207019,   0.296894703,
    -0.264941585,  -0.109483996,  -0.113153763, -0.0857348834, -0.0715566272, 0.130725801};
static const double want_dgamma[C] = {-0.27750111, -1.0889188, -1.56667286, 0.440652763};
static const double want_dbeta[C] = {0.594059406, -0.207920792, -1.00990099, 0.188118812};

static void fill(float *x, int n, int seed)
{
    for (int k = 0; k < n; k++)
        x[k] = (float)((k * 37 + seed * 11) % 101 / 101.0 - 0.5);
}

static void check(const float *got, const double *want, int n)
{
    for (int k = 0; k < n; k++)
        ck_assert_close(got[k], want[k], 2e-6);
}

START_TEST(numbers_are_those_of_pytorch)
{
    const group_norm_attr attr = {1e-5, 2};
    const tutti_desc x_desc = {{B, P, C}, 3, TUTTI_F32}, row = {{C}, 1, TUTTI_F32};
    const tutti_desc in[3] = {x_desc, row, row}, grad_in[3] = {x_desc, x_desc, row};
    const tutti_desc out[1] = {x_desc}, grad_out[3] = {x_desc, row, row};
    float x[N], gamma[C], beta[C], dy[N], y[N], dx[N], dgamma[C], dbeta[C];
    double scratch[2 * C];
    fill(x, N, 1);
    fill(gamma, C, 2);
    fill(beta, C, 3);
    fill(dy, N, 4);
    tutti_op_call c = {.struct_size = sizeof c,
                       .nin = 3,
                       .nout = 1,
                       .threads = 1,
                       .in = in,
                       .out = out,
                       .attr = &attr};
    const void *const from[3] = {x, gamma, beta}, *const grad_from[3] = {x, dy, gamma};
    void *const to[1] = {y}, *const grad_to[3] = {dx, dgamma, dbeta};
    ck_assert_int_eq(tutti_op_group_norm.cpu->run(NULL, &c, from, to, NULL), TUTTI_OK);
    check(y, want_y, N);
    c.in = grad_in;
    c.out = grad_out;
    c.nout = 3;
    ck_assert_int_eq(tutti_op_group_norm_grad.cpu->run(NULL, &c, grad_from, grad_to, scratch),
                     TUTTI_OK);
    check(dx, want_dx, N);
    check(dgamma, want_dgamma, C);
    check(dbeta, want_dbeta, C);
}
END_TEST

static const group_norm_attr two = {1e-5, 2}, none = {1e-5, 0};
static const op_refusal refusals[] = {
    {{DESC(F32, 1, 4), ROW(4)},
     3,
     &two,
     TUTTI_E_SHAPE,
     "group_norm: x is F32 (4), want rank 2 or more and channels"},
    {{DESC(F32, 2, 3, 5), ROW(5)},
     3,
     &two,
     TUTTI_E_ARG,
     "group_norm: groups is 2, want a divisor of 5 channels"},
    {{DESC(F32, 2, 3, 4), ROW(4)},
     3,
     &none,
     TUTTI_E_ARG,
     "group_norm: groups is 0, want a divisor of 4 channels"},
    {{DESC(F16, 2, 2, 4), ROW(4)},
     3,
     &two,
     TUTTI_E_ARG,
     "group_norm: x is F16 (2, 4), want F32"},
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 3)},
     3,
     &two,
     TUTTI_E_SHAPE,
     "group_norm: beta is F32 (3), want F32 (4)"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 2, 4), DESC(F32, 2, 1, 4), DESC(F32, 1, 4)},
     3,
     &two,
     TUTTI_E_SHAPE,
     "group_norm_grad: dy is F32 (1, 4), want F32 (2, 4)"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_group_norm, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_group_norm_grad, &grad_refusals[k]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("group_norm");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_groups_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, gradients_agree_with_the_definition, 0, OP_COUNT(grads));
    tcase_add_loop_test(t, large_groups_agree_with_the_definition, 0, OP_COUNT(large));
    tcase_add_test(t, numbers_are_those_of_pytorch);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
