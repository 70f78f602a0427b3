/* batch_norm_test.c - batch_norm in training and evaluation against definition and differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include "common/op_refusal.h"

#define ATTR(name_, value)                                                                     \
    {                                                                                          \
        .name = (name_), .type = TUTTI_ATTR_F64, .f = (value)                                  \
    }
#define ACT                                                                                    \
    {                                                                                          \
        .name = "act", .type = TUTTI_ATTR_I64, .i = 1                                          \
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
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 3, 3, 2, 3), FOUR(3)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE},
    {.op = "batch_norm",
     .nin = 6,
     .in = {DESC(F32, 3, 3, 2, 3), FOUR(3), DESC(F32, 3, 3, 2, 3)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE},
    {.op = "batch_norm",
     .nin = 6,
     .in = {DESC(F32, 2, 5, 2), FOUR(2), DESC(F32, 2, 5, 2)},
     POSITIVE},
    {.op = "batch_norm_grad",
     .nin = 6,
     .in = {DESC(F32, 3, 3, 2, 3), DESC(F32, 3, 3, 2, 3), FOUR(3)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     .no_grad = 63},
    {.op = "batch_norm_eval",
     .nin = 6,
     .in = {DESC(F32, 2, 4, 3), FOUR(3), DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE},
    {.op = "batch_norm_eval", .nin = 5, .in = {DESC(F32, 2, 0, 3), FOUR(3)}, POSITIVE},
    {.op = "batch_norm_apply",
     .nin = 6,
     .in = {DESC(F32, 2, 4, 3), FOUR(3), DESC(F32, 2, 4, 3)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     .no_grad = 63},
    {.op = "batch_norm_apply", .nin = 5, .in = {DESC(F32, 2, 0, 3), FOUR(3)}, .no_grad = 63},
};

/* Several threads, whole and broken groups of channels. */
#define ALONE .no_grad = 63
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
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 2, 1999, 117), FOUR(117)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm",
     .nin = 6,
     .in = {DESC(F32, 2, 1999, 37), FOUR(37), DESC(F32, 2, 1999, 37)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_grad",
     .nin = 6,
     .in = {DESC(F32, 2, 1999, 117), DESC(F32, 2, 1999, 117), FOUR(117)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    /* more channels than a device's block has, a whole number of eights and not */
    {.op = "batch_norm",
     .nin = 5,
     .in = {DESC(F32, 2, 5, 2056), FOUR(2056)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm", .nin = 5, .in = {DESC(F32, 2, 40, 301), FOUR(301)}, POSITIVE, ALONE},
    {.op = "batch_norm_grad",
     .nin = 6,
     .in = {DESC(F32, 2, 5, 2056), DESC(F32, 2, 5, 2056), FOUR(2056)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_grad",
     .nin = 5,
     .in = {DESC(F32, 2, 40, 301), DESC(F32, 2, 40, 301), DESC(F32, 1, 301), DESC(F32, 1, 301),
            DESC(F32, 1, 301)},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_eval",
     .nin = 6,
     .in = {DESC(F32, 2, 5, 2056), FOUR(2056), DESC(F32, 2, 5, 2056)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_apply", .nin = 5, .in = {DESC(F32, 2, 1999, 37), FOUR(37)}, ALONE},
    /* more eights than a warp has threads; rows that are no multiple of what a thread takes */
    {.op = "batch_norm",
     .nin = 6,
     .in = {DESC(F32, 2, 203, 264), FOUR(264), DESC(F32, 2, 203, 264)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm_grad",
     .nin = 6,
     .in = {DESC(F32, 2, 203, 264), DESC(F32, 2, 203, 264), FOUR(264)},
     .nattr = 1,
     .attr = {ACT},
     POSITIVE,
     ALONE},
    {.op = "batch_norm", .nin = 5, .in = {DESC(F32, 2, 2207, 8), FOUR(8)}, POSITIVE, ALONE},
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
    const batch_norm_attr attr = {0.0, 0.5, 0};
    const tutti_op_call c = {sizeof c, 5, 5, 1, in, out, &attr, NULL, NULL, NULL};
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
    const batch_norm_attr attr = {1e-5, 0.1, 0};
    const tutti_op_call c = {sizeof c, 5, 5, 3, in, out, &attr, NULL, NULL, NULL};
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

/* batch_norm_grad works out from x what the forward pass let through: the same bits as a ReLU's own
 * gradient before it. */
START_TEST(the_mask_is_that_of_the_forward_pass)
{
    enum { ROWS = 3000, C = 19, N = ROWS * C };
    const tutti_desc x = DESC(F32, 2, ROWS, C), one = DESC(F32, 1, C);
    const tutti_desc in[6] = {x, one, one, one, one}, out[5] = {x, one, one, one, one};
    const tutti_desc back[6] = {x, x, one, one, one, one};
    const batch_norm_attr attr = {1e-5, 0.1, 1};
    const batch_norm_grad_attr masked = {1}, whole = {0};
    const tutti_op_call forward = {sizeof forward, 5, 5, 2, in, out, &attr, NULL, NULL, NULL};
    const tutti_op_call with = {sizeof with, 6, 3, 2, back, out, &masked, NULL, NULL, NULL};
    const tutti_op_call without = {sizeof without, 5,    3,    2,   back, out,
                                   &whole,         NULL, NULL, NULL};
    static float xs[N], ys[N], dy[N], du[N], dx[2][N];
    float gamma[C], beta[C], stat[4][C], dgamma[2][C], dbeta[2][C];
    static double scratch[C * 8];
    int zeros = 0;
    for (int k = 0; k < N; k++) {
        xs[k] = (float)((k * 7919) % 1009) * 0.37f;
        dy[k] = (float)((k * 1237) % 1013) * 0.01f - 5.0f;
    }
    for (int k = 0; k < C; k++) {
        gamma[k] = k % 3 ? 0.7f : -1.3f;
        beta[k] = 0.1f * (float)(k % 5);
    }
    const void *ins[6] = {xs, gamma, beta, gamma, beta};
    void *outs[5] = {ys, stat[0], stat[1], stat[2], stat[3]};
    ck_assert_int_eq(tutti_op_batch_norm.cpu->run(NULL, &forward, ins, outs, scratch), 0);
    for (int k = 0; k < N; k++) {
        du[k] = ys[k] > 0.0f ? dy[k] : 0.0f;
        zeros += ys[k] == 0.0f;
    }
    ck_assert_int_gt(zeros, N / 4);
    for (int k = 0; k < 2; k++) {
        const void *from[6] = {xs, k ? du : dy, gamma, stat[0], stat[1], beta};
        void *to[3] = {dx[k], dgamma[k], dbeta[k]};
        ck_assert_int_eq(
            tutti_op_batch_norm_grad.cpu->run(NULL, k ? &without : &with, from, to, scratch),
            0);
    }
    ck_assert_mem_eq(dx[0], dx[1], sizeof dx[0]);
    ck_assert_mem_eq(dgamma[0], dgamma[1], sizeof dgamma[0]);
    ck_assert_mem_eq(dbeta[0], dbeta[1], sizeof dbeta[0]);
}
END_TEST

/* What batch_norm_apply makes of the statistics is what batch_norm made. */
START_TEST(the_result_can_be_had_again_to_the_bit)
{
    enum { ROWS = 3000, C = 19, N = ROWS * C };
    const tutti_desc x = DESC(F32, 2, ROWS, C), one = DESC(F32, 1, C);
    const tutti_desc in[6] = {x, one, one, one, one, x}, out[5] = {x, one, one, one, one};
    const batch_norm_attr attr = {1e-5, 0.1, _i & 1};
    const uint32_t nin = _i & 2 ? 6 : 5;
    const tutti_op_call forward = {sizeof forward, nin, 5, 2, in, out, &attr, NULL, NULL, NULL};
    const tutti_op_call again = {sizeof again, nin, 1, 3, in, out, &attr, NULL, NULL, NULL};
    static float xs[N], more[N], ys[2][N];
    float gamma[C], beta[C], stat[4][C];
    static double scratch[C * 8];
    for (int k = 0; k < N; k++) {
        xs[k] = (float)((k * 7919) % 1009) * 0.37f;
        more[k] = (float)((k * 1237) % 1013) * 0.01f - 5.0f;
    }
    for (int k = 0; k < C; k++) {
        gamma[k] = k % 3 ? 0.7f : -1.3f;
        beta[k] = 0.1f * (float)(k % 5);
    }
    const void *ins[6] = {xs, gamma, beta, gamma, beta, more};
    void *outs[5] = {ys[0], stat[0], stat[1], stat[2], stat[3]};
    ck_assert_int_eq(tutti_op_batch_norm.cpu->run(NULL, &forward, ins, outs, scratch), 0);
    const void *saved[6] = {xs, gamma, beta, stat[0], stat[1], more};
    void *to[1] = {ys[1]};
    ck_assert_int_eq(tutti_op_batch_norm_apply.cpu->run(NULL, &again, saved, to, scratch), 0);
    ck_assert_mem_eq(ys[0], ys[1], sizeof ys[0]);
}
END_TEST

static const batch_norm_attr plain = {1e-5, 0.1, 0}, odd = {1e-5, 0.1, 2};
static const batch_norm_grad_attr none = {0}, relu = {1};
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
    {{DESC(F32, 2, 2, 3), FOUR(3)},
     5,
     &odd,
     TUTTI_E_RANGE,
     "batch_norm: act is 2, want 0 (none) or 1 (ReLU)"},
    {{DESC(F32, 2, 2, 3), FOUR(3), DESC(F32, 2, 3, 2)},
     6,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm: x is F32 (2, 3) and residual is F32 (3, 2), want the same shape"},
    {{DESC(F32, 2, 2, 3), FOUR(3), DESC(F64, 2, 2, 3)},
     6,
     &plain,
     TUTTI_E_ARG,
     "batch_norm: residual is F64 (2, 3), want F32"},
};
static const op_refusal grad_refusals[] = {
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
      DESC(F32, 1, 3)},
     5,
     &none,
     TUTTI_E_SHAPE,
     "batch_norm_grad: x is F32 (2, 3) and dy is F32 (1, 3), want the same shape"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
      DESC(F64, 1, 3)},
     5,
     &none,
     TUTTI_E_ARG,
     "batch_norm_grad: invstd is F64 (3), want F32"},
    {{DESC(F32, 2, 2, 3), DESC(F32, 2, 2, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
      DESC(F32, 1, 3)},
     5,
     &relu,
     TUTTI_E_ARG,
     "batch_norm_grad: 5 inputs, want 6 with act 1"},
};
static const op_refusal eval_refusals[] = {
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 4), DESC(F32, 1, 4),
      DESC(F32, 2, 1, 4)},
     5,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm_eval: var is F32 (1, 4), want (4)"},
};
static const op_refusal apply_refusals[] = {
    {{DESC(F32, 2, 2, 4), DESC(F32, 1, 4), DESC(F32, 1, 4), DESC(F32, 1, 4), DESC(F32, 1, 5)},
     5,
     &plain,
     TUTTI_E_SHAPE,
     "batch_norm_apply: invstd is F32 (5), want (4)"},
};

/* ---- BF16 ---- */

enum { BF16_OPS = 3, BF16_IN = 6, BF16_OUT = 5 };

/* The shapes of operands: x for what lies like it, which is BF16; else a row of channels. */
static const struct {
    const tutti_op *op;
    uint32_t nin, like_x; /* bits of inputs */
} bf16_ops[BF16_OPS] = {{&tutti_op_batch_norm, 6, 33},
                        {&tutti_op_batch_norm_apply, 6, 33},
                        {&tutti_op_batch_norm_grad, 6, 3}};

/* Numbers around `about`, as BF16 or F32, and what they are in f64. */
static void *bf16_numbers(const tutti_desc *d, float about, uint32_t seed, double **ret_wide)
{
    const int64_t n = tutti_numel(d);
    void *data = calloc((size_t)n, sizeof(float));
    double *wide = *ret_wide = calloc((size_t)n, sizeof *wide);
    ck_assert(data && wide);
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        const float v = about + (float)((int32_t)seed >> 8) * 0x1p-23f;
        const uint16_t half = half_to_bf16(v);
        if (d->dtype == TUTTI_BF16)
            ((uint16_t *)data)[k] = half;
        else
            ((float *)data)[k] = v;
        wide[k] = (double)(d->dtype == TUTTI_BF16 ? half_from_bf16(half) : v);
    }
    return data;
}

/* Results of 16 bits are a rounding away, those of channels as far as sums in f32 are. */
static void bf16_close(const tutti_desc *d, const void *got, const double *want)
{
    const int half = d->dtype == TUTTI_BF16;
    for (int64_t k = 0, n = tutti_numel(d); k < n; k++) {
        const double y = (double)(half ? half_from_bf16(((const uint16_t *)got)[k])
                                       : ((const float *)got)[k]);
        if (!(fabs(y - want[k]) <= fabs(want[k]) * (half ? 0x1p-8 : 1e-5) + 1e-4))
            ck_assert_close(y, want[k], fabs(want[k]) * 0x1p-8 + 1e-4);
    }
}

static void bf16_holds(int which, int64_t rows, int64_t channels, int64_t act)
{
    const tutti_op *op = bf16_ops[which].op;
    const tutti_desc x = {{rows, channels}, 2, TUTTI_BF16}, row = {{channels}, 1, TUTTI_F32};
    const batch_norm_attr attr = {1e-5, 0.1, act};
    const batch_norm_grad_attr grad = {act};
    const tutti_step step = {.struct_size = sizeof step};
    tutti_desc descs[BF16_IN + BF16_OUT];
    void *in[BF16_IN], *out[BF16_OUT];
    double *wide[BF16_IN], *want[BF16_OUT];
    tutti_op_call c = {sizeof c,
                       bf16_ops[which].nin,
                       op->nout,
                       2,
                       descs,
                       descs + BF16_IN,
                       which == 2 ? (const void *)&grad : &attr,
                       &step,
                       NULL,
                       NULL};
    c.nin -= which == 2 && !act; /* beta is for the mask alone */
    for (uint32_t k = 0; k < BF16_IN; k++) {
        descs[k] = bf16_ops[which].like_x >> k & 1 ? x : row;
        in[k] = bf16_numbers(&descs[k], k == 4 ? 2.0f : k == 0 ? 3.0f : 0.0f, k + 1, &wide[k]);
    }
    for (uint32_t k = 0; k < op->nout; k++) {
        descs[BF16_IN + k] = k ? row : x;
        out[k] = bf16_numbers(&descs[BF16_IN + k], 0.0f, 9, &want[k]);
    }
    ck_assert_int_eq(op->reference(&c, (const double *const *)wide, want), TUTTI_OK);
    void *state = NULL, *scratch = NULL;
    uint64_t bytes = 0;
    ck_assert_int_eq(op->cpu->prepare(&c, &state, &bytes, NULL), TUTTI_OK);
    ck_assert_ptr_nonnull(scratch = aligned_alloc(64, (bytes + 127) / 64 * 64));
    memset(scratch, 0xFF, bytes);
    ck_assert_int_eq(op->cpu->run(state, &c, (const void *const *)in, out, scratch), TUTTI_OK);
    for (uint32_t k = 0; k < op->nout; k++)
        bf16_close(&descs[BF16_IN + k], out[k], want[k]);
    for (uint32_t k = 0; k < BF16_IN; k++)
        free(in[k]), free(wide[k]);
    for (uint32_t k = 0; k < op->nout; k++)
        free(out[k]), free(want[k]);
    free(scratch);
}

/* Channels that fill registers, that are left over, and both; rows beyond a block and an odd one. */
START_TEST(bf16_goes_in_and_comes_out_as_it_lies)
{
    static const int64_t channels[] = {5, 16, 24, 33, 64, 83, 160, 1104};
    for (int64_t act = 0; act < 2; act++) {
        bf16_holds(_i % BF16_OPS, 37, channels[_i / BF16_OPS], act);
        bf16_holds(_i % BF16_OPS, 600, channels[_i / BF16_OPS], act);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm, &refusals[k]);
    for (int k = 0; k < OP_COUNT(grad_refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm_grad, &grad_refusals[k]);
    for (int k = 0; k < OP_COUNT(eval_refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm_eval, &eval_refusals[k]);
    for (int k = 0; k < OP_COUNT(apply_refusals); k++)
        op_refusal_holds(&tutti_op_batch_norm_apply, &apply_refusals[k]);
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
    tcase_add_test(t, the_mask_is_that_of_the_forward_pass);
    tcase_add_loop_test(t, the_result_can_be_had_again_to_the_bit, 0, 4);
    tcase_add_loop_test(t, bf16_goes_in_and_comes_out_as_it_lies, 0, 8 * BF16_OPS);
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
