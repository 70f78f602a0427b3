/* batch_norm.h - normalisation over all dimensions but the last, the channel. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_BATCH_NORM_BATCH_NORM_H
#define KERNELS_BATCH_NORM_BATCH_NORM_H

#include "common/half_rows.h"

typedef struct batch_norm_attr {
    double eps;
    double momentum; /* weight of the new statistics in the running ones */
    int64_t act;     /* 1: max(0, ...) at the end */
} batch_norm_attr;

typedef struct batch_norm_grad_attr {
    int64_t act;
} batch_norm_grad_attr;

/* u = (x - mean) scale + shift, by channel; followed by max(0, u + residual) when `relu`. */
typedef struct batch_norm_line {
    const float *mean, *scale, *shift; /* never NULL */
    int64_t relu;
} batch_norm_line;

/* dy as the gradient of ReLU behind the normalisation and a residual: du = (dy + more) where its result y is above 0.
 * du may be dy or more. */
typedef struct batch_norm_relu_grad {
    const void *y, *more; /* more: NULL: nothing is added */
    void *du;
} batch_norm_relu_grad;

/* Of batch_norm and batch_norm_across: the running values may be written where they lie. */
static const uint8_t batch_norm_updates[5] = {0, 0, 0, 4, 5};

/* x seen as rows of channels. */
static inline int64_t batch_norm_channels(const tutti_desc *x)
{
    return x->dim[x->rank - 1];
}

static inline int64_t batch_norm_rows(const tutti_desc *x)
{
    const int64_t c = batch_norm_channels(x);
    return c ? tutti_numel(x) / c : 0;
}

/* x has channels; inputs 1 to 4 of `c` are (C), named by `names`; a sixth is a residual like x. */
tutti_status batch_norm_want(const char *op, const tutti_op_call *c, const char *const *names,
                             tutti_error *err);
/* Inputs [first, last) of `c` are (C), named by `names`. */
tutti_status batch_norm_want_channels(const char *op, const tutti_op_call *c, uint32_t first,
                                      uint32_t last, const char *const *names,
                                      tutti_error *err);
tutti_status batch_norm_want_act(const char *op, int64_t act, tutti_error *err);

/* max(0, u + residual) as far as call or node have residual (input 5) and act. */
double batch_norm_epilogue_f64(const tutti_op_call *c, const double *const *in, int64_t i,
                               double u);
tutti_value batch_norm_epilogue(tutti_graph *g, const tutti_node *n, tutti_value u);
/* The gradient of what goes into that max; a residual's gradient is the same. */
tutti_value batch_norm_epilogue_grad(tutti_graph *g, const tutti_node *n, tutti_value dy);

/* Loops over `rows` rows of `c` channels, of f32, or `low`: all of bf16.  Sums are f64; they are added to what is
 * there. */

/* sum(c) += x, square(c) += x^2 */
void batch_norm_sums(const void *x, int32_t low, int64_t rows, int64_t c, double *sum,
                     double *square);
/* y = the line of x; y may be x or the residual, which may be NULL */
void batch_norm_apply(const void *x, const void *residual, void *y, int32_t low, int64_t rows,
                      int64_t c, const batch_norm_line *line);
/* Both gradients take dy as 0 where line->relu and u is not above 0. */
/* sum(c) += dy, product(c) += dy (x - mean) */
void batch_norm_grad_sums(const void *x, const void *dy, int32_t low, int64_t rows, int64_t c,
                          const batch_norm_line *line, double *sum, double *product);
/* The same of du, which is made of dy and stored first; as it is stored, it counts.  Not with line->relu. */
void batch_norm_relu_grad_sums(const void *x, const void *dy, const batch_norm_relu_grad *relu,
                               int32_t low, int64_t rows, int64_t c,
                               const batch_norm_line *line, double *sum, double *product);
/* dx = dy a + (x - mean) b + shift; coef is a, b, shift, c floats each; dx may be x or dy */
void batch_norm_grad_apply(const void *x, const void *dy, void *dx, int32_t low, int64_t rows,
                           int64_t c, const batch_norm_line *line, const float *coef);

/* Rows [first, first + count) of a call, block by block: their sums, which are zeroed before; `buffer` is
 * batch_norm_scratch floats, one thread's. */
void batch_norm_sum_rows(const tutti_op_call *c, const void *x, int64_t first, int64_t count,
                         double *sums, float *buffer);
/* Results 1 to 4 of batch_norm and its scale, out of the sums of `rows` rows; inputs as batch_norm's. */
void batch_norm_finish(const tutti_op_call *c, const double *sums, int64_t rows,
                       const void *const *in, void *const *out, float *scale);
/* The same for the gradient: inputs 0 and 1 are x and dy. */
void batch_norm_grad_sum_rows(const tutti_op_call *c, const void *const *in, int64_t first,
                              int64_t count, const batch_norm_line *line, double *sums,
                              float *buffer);
void batch_norm_grad_rows(const tutti_op_call *c, const void *const *in, void *dx,
                          int64_t first, int64_t count, const batch_norm_line *line,
                          const float *coef, float *buffer);
/* Results 1 and 2 of batch_norm_grad and batch_norm_grad_apply's coefficients, out of the sums of `rows` rows. */
void batch_norm_grad_finish(int64_t n, int64_t rows, const double *sums, const void *const *in,
                            void *const *out, float *coef);
/* batch_norm_grad_apply's coefficients, from sums over `rows` rows. */
void batch_norm_grad_coef(int64_t n, int64_t rows, const double *sums, const float *gamma,
                          const float *invstd, float *coef);
/* The scale (C), to the bit as batch_norm has it. */
void batch_norm_scale(int64_t n, const float *gamma, const float *invstd, float *scale);

/* y of rows [at, at + rows), at most a block, of a call whose residual is input 5; `buffer` is one
 * thread's, unused where the loops take its dtypes. */
void batch_norm_apply_rows(const tutti_op_call *c, const void *const *in, void *y, int64_t at,
                           int64_t rows, const batch_norm_line *line, float *buffer);

/* All rows of such a call, for which the line is known; `buffers` is batch_norm_scratch a thread. */
void batch_norm_apply_all(const tutti_op_call *c, const void *const *in, void *y,
                          const batch_norm_line *line, float *buffers);
/* Scratch of that: the scale (C), then the buffers. */
tutti_status batch_norm_apply_all_prepare(const tutti_op_call *c, void **ret_state,
                                          uint64_t *ret_scratch, tutti_error *err);

/* Each thread's share of rows is read in blocks of this many rows, the second time from its end:
 * what the first time read last is still in the cache. */
enum { BATCH_NORM_BLOCK = 256, BATCH_NORM_HALF_BLOCK = 64 };

/* Whether x, what goes with it and the result are all BF16: the loops read and write these. */
static inline int batch_norm_is_bf16(const tutti_op_call *c)
{
    int32_t bf16 = c->out[0].dtype == TUTTI_BF16;
    for (uint32_t k = 0; k < c->nin; k++)
        bf16 &= c->in[k].dtype == TUTTI_BF16 || !tutti_same_shape(&c->in[k], &c->in[0]);
    return bf16;
}

/* With other operands of 16 bits blocks are smaller, and every thread has space for three of them in f32. */
static inline int batch_norm_is_half(const tutti_op_call *c)
{
    int low = half_is(c->out[0].dtype);
    for (uint32_t k = 0; k < c->nin; k++)
        low |= half_is(c->in[k].dtype);
    return low && !batch_norm_is_bf16(c);
}

static inline int64_t batch_norm_block(const tutti_op_call *c)
{
    return batch_norm_is_half(c) ? BATCH_NORM_HALF_BLOCK : BATCH_NORM_BLOCK;
}

static inline uint64_t batch_norm_scratch(const tutti_op_call *c)
{
    return batch_norm_is_half(c)
               ? 3 * BATCH_NORM_HALF_BLOCK * (uint64_t)batch_norm_channels(&c->in[0])
               : 0;
}

extern const tutti_kernel batch_norm_cuda, batch_norm_eval_cuda, batch_norm_apply_cuda,
    batch_norm_grad_cuda, batch_norm_totals_cuda, batch_norm_across_cuda,
    batch_norm_across_totals_cuda, batch_norm_across_grad_cuda;
extern const tutti_op tutti_op_batch_norm, tutti_op_batch_norm_grad,
    tutti_op_batch_norm_relu_grad, tutti_op_batch_norm_eval, tutti_op_batch_norm_apply,
    tutti_op_batch_norm_totals, tutti_op_batch_norm_across, tutti_op_batch_norm_across_totals,
    tutti_op_batch_norm_across_grad;

#endif
