/* conv2d_test.c - convolution and its gradients against definitions, differences and by hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d.h"

#include "common/op_refusal.h"

#define GROUPS(n)                                                                              \
    {                                                                                          \
        .name = "groups", .type = TUTTI_ATTR_I64, .i = (n)                                     \
    }

static const op_case cases[] = {
    {.op = "conv2d", .nin = 2, .in = {DESC(F32, 4, 2, 4, 5, 3), DESC(F32, 4, 4, 3, 3, 3)}},
    {.op = "conv2d",
     .nin = 3,
     .in = {DESC(F32, 4, 2, 4, 4, 2), DESC(F32, 4, 3, 3, 3, 2), DESC(F32, 1, 3)},
     .nattr = 1,
     .attr = {LIST("padding", 1, 1)}},
    {.op = "conv2d",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 6, 5, 2), DESC(F32, 4, 2, 3, 2, 2)},
     .nattr = 2,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 3)}},
    {.op = "conv2d",
     .nin = 3,
     .in = {DESC(F32, 4, 1, 7, 6, 4), DESC(F32, 4, 6, 3, 2, 2), DESC(F32, 1, 6)},
     .nattr = 4,
     .attr = {LIST("padding", 2, 1), LIST("stride", 2, 1), LIST("dilation", 2, 3), GROUPS(2)}},
    {.op = "conv2d",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 4, 4, 3), DESC(F32, 4, 3, 3, 3, 1)},
     .nattr = 2,
     .attr = {LIST("padding", 1, 1), GROUPS(3)}},
    {.op = "conv2d",
     .nin = 2,
     .in = {DESC(F32, 4, 1, 5, 5, 4), DESC(F32, 4, 3, 1, 1, 4)},
     .nattr = 1,
     .attr = {LIST("stride", 2, 2)}},
    {.op = "conv2d",
     .nin = 2,
     .in = {DESC(F32, 4, 1, 4, 6, 2), DESC(F32, 4, 3, 1, 1, 2)},
     .nattr = 1,
     .attr = {LIST("stride", 2, 2)}},
    {.op = "conv2d", .nin = 2, .in = {DESC(F32, 4, 0, 4, 5, 3), DESC(F32, 4, 4, 3, 3, 3)}},
    {.op = "conv2d_grad_input",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 3, 2, 2), DESC(F32, 4, 2, 3, 2, 2)},
     .nattr = 3,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 3), LIST("input_shape", 2, 6, 5, 2)}},
    {.op = "conv2d_grad_input",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 4, 6, 3), DESC(F32, 4, 3, 3, 2, 2)},
     .nattr = 3,
     .attr = {LIST("padding", 1, 1), LIST("dilation", 2, 3), LIST("input_shape", 2, 6, 7, 2)}},
    {.op = "conv2d_grad_weight",
     .nin = 2,
     .in = {DESC(F32, 4, 2, 6, 5, 4), DESC(F32, 4, 2, 3, 4, 2)},
     .nattr = 4,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 1), LIST("kernel", 3, 2), GROUPS(2)}},
    {.op = "conv2d_grad_weight",
     .nin = 2,
     .in = {DESC(F32, 4, 0, 6, 5, 4), DESC(F32, 4, 0, 3, 4, 2)},
     .nattr = 3,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 1), LIST("kernel", 3, 2)},
     .no_grad = 3},
    {.op = "conv2d_grad_weight_add",
     .nin = 3,
     .in = {DESC(F32, 4, 2, 6, 5, 4), DESC(F32, 4, 2, 3, 4, 2), DESC(F32, 4, 2, 3, 2, 2)},
     .nattr = 4,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 1), LIST("kernel", 3, 2), GROUPS(2)}},
    {.op = "conv2d_grad_weight_add",
     .nin = 3,
     .in = {DESC(F32, 4, 0, 6, 5, 4), DESC(F32, 4, 0, 3, 4, 2), DESC(F32, 4, 2, 3, 2, 4)},
     .nattr = 3,
     .attr = {LIST("padding", 1, 0), LIST("stride", 2, 1), LIST("kernel", 3, 2)},
     .no_grad = 7},
    {.op = "conv2d_grad_weight_add",
     .nin = 3,
     .in = {DESC(F32, 4, 3, 9, 9, 16), DESC(F32, 4, 3, 9, 9, 24), DESC(F32, 4, 24, 3, 3, 16)},
     .nattr = 2,
     .attr = {LIST("padding", 1, 1), LIST("kernel", 3, 3)},
     .no_grad = 7},
};

/* The shapes of real networks: the kernels alone. */
#define ALONE .no_grad = 7
#define THREE(b, h, c, o, k, s, p, oh)                                                         \
    {.op = "conv2d",                                                                           \
     .nin = 3,                                                                                 \
     .in = {DESC(F32, 4, b, h, h, c), DESC(F32, 4, o, k, k, c), DESC(F32, 1, o)},              \
     .nattr = 2,                                                                               \
     .attr = {LIST("padding", p, p), LIST("stride", s, s)},                                    \
     ALONE},                                                                                   \
        {.op = "conv2d_grad_input",                                                            \
         .nin = 2,                                                                             \
         .in = {DESC(F32, 4, b, oh, oh, o), DESC(F32, 4, o, k, k, c)},                         \
         .nattr = 3,                                                                           \
         .attr = {LIST("padding", p, p), LIST("stride", s, s),                                 \
                  LIST("input_shape", b, h, h, c)},                                            \
         ALONE},                                                                               \
    {                                                                                          \
        .op = "conv2d_grad_weight", .nin = 2,                                                  \
        .in = {DESC(F32, 4, b, h, h, c), DESC(F32, 4, b, oh, oh, o)}, .nattr = 3,              \
        .attr = {LIST("padding", p, p), LIST("stride", s, s), LIST("kernel", k, k)}, ALONE     \
    }
static const op_case large[] = {
    THREE(4, 32, 3, 16, 3, 1, 1, 32),  THREE(4, 32, 16, 16, 3, 1, 1, 32),
    THREE(4, 32, 16, 32, 3, 2, 1, 16), THREE(4, 32, 16, 32, 1, 2, 0, 16),
    THREE(4, 8, 64, 64, 3, 1, 1, 8),   THREE(3, 14, 20, 24, 5, 1, 2, 14),
    THREE(2, 28, 1, 16, 5, 1, 2, 28),  THREE(5, 9, 17, 33, 3, 2, 1, 5),
    THREE(3, 7, 16, 48, 3, 1, 1, 7),   THREE(3, 9, 48, 16, 3, 2, 1, 5),
    THREE(7, 3, 16, 32, 3, 1, 1, 3),   THREE(2, 20, 32, 32, 1, 3, 0, 7),
    THREE(2, 6, 32, 16, 5, 2, 2, 3),   THREE(1, 140, 16, 16, 3, 1, 1, 140),
    THREE(4, 10, 6, 12, 1, 2, 0, 5),   THREE(5, 16, 8, 16, 1, 2, 0, 8),
    THREE(3, 32, 3, 24, 4, 4, 0, 8),   THREE(2, 27, 3, 40, 8, 8, 0, 3),
    THREE(3, 11, 16, 32, 2, 2, 0, 5),
};

/* Multiply-adds of a case with x and w in place 0 and 1, or with y instead of one of them. */
static int64_t work_of(const op_case *c)
{
    return tutti_numel(&c->in[0]) * c->in[1].dim[c->in[1].rank - 1] * 9;
}

/* cuDNN writes no F32 from 16-bit factors, and a device of the tests is slow. */
static void holds(const op_case *c, int k)
{
    op_case on_device = *c;
    on_device.rounds = 1;
    if (!op_check_device || work_of(c) < 2000000)
        op_case_holds(&on_device, k);
}

START_TEST(small_convolutions_agree_with_definition_and_differences)
{
    holds(&cases[_i], _i);
}
END_TEST

START_TEST(convolutions_of_real_networks_agree_with_the_definition)
{
    holds(&large[_i], _i);
}
END_TEST

/* The f32 twin of the reference is what runs where oneDNN refuses. */
START_TEST(the_plain_loops_agree_with_the_definition)
{
    const conv2d_geometry g = {1, 3, 2, 2, 2, 2, 4, 2, 1, 2, 1, 1, 0, 0, 1, 1};
    double x[12], w[8], y[16], dx[12], dw[8];
    float fx[12], fw[8], fy[16], fdx[12], fdw[8];
    for (int k = 0; k < 12; k++)
        x[k] = fx[k] = (float)(k % 5 - 2);
    for (int k = 0; k < 8; k++)
        w[k] = fw[k] = (float)(k % 3 - 1);
    conv2d_plain_f64(&g, x, w, NULL, y, 0, 4);
    conv2d_plain_f32(&g, fx, fw, NULL, fy, 0, 4);
    conv2d_plain_input_f64(&g, y, w, dx, 0, 6);
    conv2d_plain_input_f32(&g, fy, fw, fdx, 0, 6);
    conv2d_plain_weight_f64(&g, x, y, dw, 0, 4);
    conv2d_plain_weight_f32(&g, fx, fy, fdw, 0, 4);
    for (int k = 0; k < 16; k++)
        ck_assert_close(fy[k], y[k], 0.0);
    for (int k = 0; k < 12; k++)
        ck_assert_close(fdx[k], dx[k], 0.0);
    for (int k = 0; k < 8; k++)
        ck_assert_close(fdw[k], dw[k], 0.0);
}
END_TEST

/* x is 1 2 / 3 4 with a border of zeros, w is 1 2 3 / 4 5 6 / 7 8 9 and bias is 0.5. */
START_TEST(a_convolution_by_hand_comes_out)
{
    const conv2d_geometry g = {1, 2, 2, 1, 2, 2, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1};
    const double x[4] = {1, 2, 3, 4}, w[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bias = 0.5;
    double y[4];
    conv2d_plain_f64(&g, x, w, &bias, y, 0, 4);
    ck_assert_close(y[0], 5 * 1 + 6 * 2 + 8 * 3 + 9 * 4 + 0.5, 0.0);
    ck_assert_close(y[1], 4 * 1 + 5 * 2 + 7 * 3 + 8 * 4 + 0.5, 0.0);
    ck_assert_close(y[2], 2 * 1 + 3 * 2 + 5 * 3 + 6 * 4 + 0.5, 0.0);
    ck_assert_close(y[3], 1 * 1 + 2 * 2 + 4 * 3 + 5 * 4 + 0.5, 0.0);
}
END_TEST

static const conv2d_attr plain = {.groups = 1}, grouped = {.groups = 2}, none = {.groups = 0};
static const conv2d_attr odd = {.groups = 1, .stride = {3, {1, 1, 1}}};
static const conv2d_attr still = {.groups = 1, .stride = {2, {0, 1}}};
static const conv2d_attr shaped = {.groups = 1, .shape = {4, {1, 5, 5, 3}}};
static const conv2d_attr kernel = {.groups = 1, .shape = {2, {3, 3}}};

static const op_refusal refusals[] = {
    {{DESC(F32, 2, 8, 3), DESC(F32, 4, 1, 1, 1, 3)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "conv2d: x is F32 (8, 3), want rank 4"},
    {{DESC(U8, 4, 1, 4, 4, 3), DESC(F32, 4, 1, 1, 1, 3)},
     2,
     &plain,
     TUTTI_E_ARG,
     "conv2d: x is U8 (1, 4, 4, 3), want F32"},
    {{DESC(F32, 4, 1, 4, 4, 3), DESC(F32, 4, 2, 1, 1, 3)},
     2,
     &grouped,
     TUTTI_E_SHAPE,
     "conv2d: x is F32 (1, 4, 4, 3) and w is F32 (2, 1, 1, 3) in 2 groups, want w (O, KH, KW, "
     "C / groups) and both O and C divisible by groups"},
    {{DESC(F32, 4, 1, 2, 4, 3), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &plain,
     TUTTI_E_SHAPE,
     "conv2d: no window of w F32 (2, 3, 3, 3) fits into x F32 (1, 2, 4, 3) with its padding"},
    {{DESC(F32, 4, 1, 4, 4, 3), DESC(F32, 4, 2, 3, 3, 3), DESC(F32, 1, 3)},
     3,
     &plain,
     TUTTI_E_SHAPE,
     "conv2d: bias is F32 (3), want (2)"},
    {{DESC(F32, 4, 1, 4, 4, 3), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &odd,
     TUTTI_E_ARG,
     "conv2d: stride has 3 entries, want 2"},
    {{DESC(F32, 4, 1, 4, 4, 3), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &still,
     TUTTI_E_RANGE,
     "conv2d: stride is (0, 1), want 1 or more"},
    {{DESC(F32, 4, 1, 4, 4, 3), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &none,
     TUTTI_E_RANGE,
     "conv2d: groups is 0, want 1 or more"},
};
static const op_refusal input_refusals[] = {
    {{DESC(F32, 4, 1, 4, 4, 2), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &shaped,
     TUTTI_E_SHAPE,
     "conv2d_grad_input: dy is F32 (1, 4, 4, 2), want F32 (1, 3, 3, 2)"},
    {{DESC(F32, 4, 1, 4, 4, 2), DESC(F32, 4, 2, 3, 3, 3)},
     2,
     &kernel,
     TUTTI_E_ARG,
     "conv2d_grad_input: input_shape has 2 entries, want 4"},
};
static const op_refusal weight_refusals[] = {
    {{DESC(F32, 4, 1, 5, 5, 2), DESC(F32, 4, 1, 4, 3, 3)},
     2,
     &kernel,
     TUTTI_E_SHAPE,
     "conv2d_grad_weight: dy is F32 (1, 4, 3, 3), want F32 (1, 3, 3, 3)"},
    {{DESC(F32, 4, 1, 5, 5, 2), DESC(F32, 4, 1, 4, 3, 3)},
     2,
     &shaped,
     TUTTI_E_ARG,
     "conv2d_grad_weight: kernel has 4 entries, want 2"},
};

static const op_refusal add_refusals[] = {
    {{DESC(F32, 4, 1, 5, 5, 2), DESC(F32, 4, 1, 3, 3, 3), DESC(F32, 4, 3, 3, 2, 3)},
     3,
     &kernel,
     TUTTI_E_SHAPE,
     "conv2d_grad_weight_add: c is F32 (3, 3, 2, 3), want the weight's F32 (3, 3, 3, 2)"},
    {{DESC(F32, 4, 1, 5, 5, 2), DESC(F32, 4, 1, 3, 3, 3), DESC(I32, 4, 3, 3, 3, 2)},
     3,
     &kernel,
     TUTTI_E_ARG,
     "conv2d_grad_weight_add: c is I32 (3, 3, 3, 2), want F32"},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    op_refusal_holds(&tutti_op_conv2d, &refusals[_i]);
}
END_TEST

START_TEST(gradients_that_do_not_fit_are_refused_too)
{
    op_refusal_holds(&tutti_op_conv2d_grad_input, &input_refusals[_i]);
    op_refusal_holds(&tutti_op_conv2d_grad_weight, &weight_refusals[_i]);
    op_refusal_holds(&tutti_op_conv2d_grad_weight_add, &add_refusals[_i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conv2d");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, small_convolutions_agree_with_definition_and_differences, 0,
                        OP_COUNT(cases));
    tcase_add_loop_test(t, convolutions_of_real_networks_agree_with_the_definition, 0,
                        OP_COUNT(large));
    tcase_add_test(t, the_plain_loops_agree_with_the_definition);
    tcase_add_test(t, a_convolution_by_hand_comes_out);
    tcase_add_loop_test(t, what_does_not_fit_is_refused_in_one_sentence, 0, OP_COUNT(refusals));
    tcase_add_loop_test(t, gradients_that_do_not_fit_are_refused_too, 0,
                        OP_COUNT(input_refusals));
    return tutti_run(s);
}
