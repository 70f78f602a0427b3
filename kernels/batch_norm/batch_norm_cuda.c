/* batch_norm_cuda.c - batch norm, its evaluation and its gradient on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm_cuda.h"
#include "batch_norm/batch_norm.h"
#include "common/cuda/launch.h"

#include <stdlib.h>

/* The kernels come one channel a thread; eight; eight where all that is large is BF16; and those with more
 * to do: a residual, or the gradient's mask. */
enum { ONE, EIGHT, EIGHT_BF16, EIGHT_BF16_MORE, KINDS };

/* Device functions of one node, in order. */
typedef struct steps {
    void *sums;     /* NULL: statistics are given */
    void *finish;   /* a number a channel */
    void *apply;    /* NULL: totals are all */
    int32_t blocks; /* a multiprocessor holds */
} steps;

typedef struct names {
    const char *sums[KINDS], *finish, *apply[KINDS];
    int32_t blocks[KINDS];
} names;

#define SUMS                                                                                   \
    {                                                                                          \
        "batch_norm_sums_1", "batch_norm_sums_8", "batch_norm_sums_8_bf16",                    \
            "batch_norm_sums_8_bf16"                                                           \
    }
#define APPLY                                                                                  \
    {                                                                                          \
        "batch_norm_apply_1", "batch_norm_apply_8", "batch_norm_apply_8_bf16",                 \
            "batch_norm_apply_8_bf16_add"                                                      \
    }
#define BLOCKS                                                                                 \
    {                                                                                          \
        BATCH_NORM_BLOCKS, BATCH_NORM_BLOCKS, BATCH_NORM_BLOCKS_BF16, BATCH_NORM_BLOCKS_BF16   \
    }

#define GRAD_SUMS                                                                              \
    {                                                                                          \
        "batch_norm_grad_sums_1", "batch_norm_grad_sums_8", "batch_norm_grad_sums_8_bf16",     \
            "batch_norm_grad_sums_8_bf16_act"                                                  \
    }
#define GRAD_APPLY                                                                             \
    {                                                                                          \
        "batch_norm_grad_apply_1", "batch_norm_grad_apply_8", "batch_norm_grad_apply_8_bf16",  \
            "batch_norm_grad_apply_8_bf16_act"                                                 \
    }
#define GRAD_BLOCKS                                                                            \
    {                                                                                          \
        BATCH_NORM_BLOCKS, BATCH_NORM_BLOCKS, BATCH_NORM_BLOCKS_BF16, BATCH_NORM_BLOCKS        \
    }

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static cuda_columns columns_of(const tutti_op_call *c, int32_t fill)
{
    return cuda_columns_of(batch_norm_rows(&c->in[0]), batch_norm_channels(&c->in[0]),
                           c->cuda->multiprocessors, fill);
}

/* `other`: the input beside x that is as large.  Totals, which are F64, are not. */
static int kind_of(const tutti_op_call *c, uint32_t other, int more)
{
    const int bf16 = c->in[0].dtype == TUTTI_BF16 &&
                     (c->out[0].dtype == TUTTI_BF16 || c->out[0].dtype == TUTTI_F64) &&
                     (other >= c->nin || c->in[other].dtype == TUTTI_BF16);
    if (batch_norm_channels(&c->in[0]) % 8 != 0)
        return ONE;
    return !bf16 ? EIGHT : more ? EIGHT_BF16_MORE : EIGHT_BF16;
}

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return entry ? CUDA_FUNCTION(c, entry, ret_function, err, sizeof(batch_norm_cuda_args))
                 : TUTTI_OK;
}

/* Scratch: up to three numbers a channel, then the partial sums. */
static tutti_status prepare_steps(const tutti_op_call *c, const names *n, int kind,
                                  void **ret_state, uint64_t *ret_scratch, tutti_error *err)
{
    const cuda_columns g = columns_of(c, n->blocks[kind]);
    steps *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "batch_norm: no memory for its device functions");
    tutti_status status = one(c, n->sums[kind], &s->sums, err);
    if (!status)
        status = one(c, n->finish, &s->finish, err);
    if (!status)
        status = one(c, n->apply[kind], &s->apply, err);
    if (status) {
        free(s);
        return status;
    }
    s->blocks = n->blocks[kind];
    *ret_state = s;
    *ret_scratch = aligned(3 * (uint64_t)g.columns * sizeof(float)) + cuda_columns_scratch(&g);
    return TUTTI_OK;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    static const names n = {SUMS, "batch_norm_finish", APPLY, BLOCKS};
    return prepare_steps(c, &n, kind_of(c, 5, c->nin > 5), ret_state, ret_scratch, err);
}

static tutti_status prepare_eval(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {{NULL}, "batch_norm_scale", APPLY, BLOCKS};
    return prepare_steps(c, &n, kind_of(c, 5, c->nin > 5), ret_state, ret_scratch, err);
}

static tutti_status prepare_apply(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {{NULL}, "batch_norm_scale_saved", APPLY, BLOCKS};
    return prepare_steps(c, &n, kind_of(c, 5, c->nin > 5), ret_state, ret_scratch, err);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {GRAD_SUMS, "batch_norm_grad_finish", GRAD_APPLY, GRAD_BLOCKS};
    const int act = ((const batch_norm_grad_attr *)c->attr)->act;
    return prepare_steps(c, &n, kind_of(c, 1, act), ret_state, ret_scratch, err);
}

static tutti_status prepare_totals(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {SUMS, "batch_norm_totals_finish", {NULL}, BLOCKS};
    return prepare_steps(c, &n, kind_of(c, 1, 0), ret_state, ret_scratch, err);
}

static tutti_status prepare_across(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {{NULL}, "batch_norm_across_finish", APPLY, BLOCKS};
    return prepare_steps(c, &n, kind_of(c, 6, c->nin > 6), ret_state, ret_scratch, err);
}

static tutti_status prepare_across_totals(const tutti_op_call *c, void **ret_state,
                                          uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {GRAD_SUMS, "batch_norm_across_totals_finish", {NULL}, GRAD_BLOCKS};
    const int act = ((const batch_norm_grad_attr *)c->attr)->act;
    return prepare_steps(c, &n, kind_of(c, 1, act), ret_state, ret_scratch, err);
}

static tutti_status prepare_across_grad(const tutti_op_call *c, void **ret_state,
                                        uint64_t *ret_scratch, tutti_error *err)
{
    static const names n = {{NULL}, "batch_norm_across_grad_finish", GRAD_APPLY, GRAD_BLOCKS};
    const int act = ((const batch_norm_grad_attr *)c->attr)->act;
    return prepare_steps(c, &n, kind_of(c, 1, act), ret_state, ret_scratch, err);
}

/* Sums are as many as there are blocks, so there are no more of these than are held at once. */
static batch_norm_cuda_args args_of(const steps *s, const tutti_op_call *c, void *scratch)
{
    batch_norm_cuda_args a = {.sums = columns_of(c, s->blocks),
                              .apply = columns_of(c, 2 * s->blocks),
                              .scale = scratch,
                              .unbiased = 1.0};
    a.partials =
        (float *)((char *)scratch + aligned(3 * (uint64_t)a.sums.columns * sizeof(float)));
    return a;
}

static tutti_status launch(const steps *s, const tutti_op_call *c, batch_norm_cuda_args *a)
{
    void *const args[] = {a};
    const uint32_t sums = (uint32_t)(a->sums.chunks * a->sums.parts);
    const uint32_t apply = (uint32_t)(a->apply.chunks * a->apply.parts);
    tutti_status status = TUTTI_OK;
    const uint32_t finish = cuda_finish_blocks(a->apply.columns);
    if (a->apply.columns == 0 && !a->totals)
        return TUTTI_OK;
    if (s->sums && a->sums.rows)
        status = cuda_launch(c->cuda, s->sums, sums, CUDA_COLUMNS_BLOCK, 0, args);
    if (!status)
        status = cuda_launch(c->cuda, s->finish, finish ? finish : 1, CUDA_BLOCK, 0, args);
    if (!status && s->apply && a->apply.rows)
        status = cuda_launch(c->cuda, s->apply, apply, CUDA_COLUMNS_BLOCK, 0, args);
    return status;
}

/* What training takes and gives; `residual` is the input's number. */
static void set_training(batch_norm_cuda_args *a, const tutti_op_call *c, const void *const *in,
                         void *const *out, uint32_t residual)
{
    const batch_norm_attr *attr = c->attr;
    a->x = cuda_in(c, in, 0);
    a->gamma = cuda_in(c, in, 1);
    a->beta = cuda_in(c, in, 2);
    a->old_mean = cuda_in(c, in, 3);
    a->old_var = cuda_in(c, in, 4);
    if (c->nin > residual)
        a->residual = cuda_in(c, in, residual);
    a->y = cuda_out(c, out, 0);
    a->mean = cuda_out(c, out, 1);
    a->invstd = cuda_out(c, out, 2);
    a->new_mean = cuda_out(c, out, 3);
    a->new_var = cuda_out(c, out, 4);
    a->eps = attr->eps;
    a->momentum = attr->momentum;
    a->act = attr->act;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    set_training(&a, c, in, out, 5);
    if (a.sums.rows == 0)
        a.momentum = 0.0;
    if (a.sums.rows > 1)
        a.unbiased = (double)a.sums.rows / (double)(a.sums.rows - 1);
    return launch(state, c, &a);
}

static tutti_status run_eval(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const batch_norm_attr *attr = c->attr;
    batch_norm_cuda_args a = args_of(state, c, scratch);
    a.x = cuda_in(c, in, 0);
    a.gamma = cuda_in(c, in, 1);
    a.beta = cuda_in(c, in, 2);
    a.mean = cuda_in(c, in, 3);
    a.old_var = cuda_in(c, in, 4);
    if (c->nin > 5)
        a.residual = cuda_in(c, in, 5);
    a.y = cuda_out(c, out, 0);
    a.eps = attr->eps;
    a.act = attr->act;
    return launch(state, c, &a);
}

static tutti_status run_apply(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    a.x = cuda_in(c, in, 0);
    a.gamma = cuda_in(c, in, 1);
    a.beta = cuda_in(c, in, 2);
    a.mean = cuda_in(c, in, 3);
    a.invstd = cuda_in(c, in, 4);
    if (c->nin > 5)
        a.residual = cuda_in(c, in, 5);
    a.y = cuda_out(c, out, 0);
    a.act = ((const batch_norm_attr *)c->attr)->act;
    return launch(state, c, &a);
}

static void set_grad(batch_norm_cuda_args *a, const tutti_op_call *c, const void *const *in,
                     uint32_t beta)
{
    a->act = ((const batch_norm_grad_attr *)c->attr)->act;
    a->x = cuda_in(c, in, 0);
    a->dy = cuda_in(c, in, 1);
    a->gamma = cuda_in(c, in, 2);
    a->mean = cuda_in(c, in, 3);
    a->invstd = cuda_in(c, in, 4);
    if (a->act)
        a->beta = cuda_in(c, in, beta);
}

static tutti_status run_grad(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    set_grad(&a, c, in, 5);
    a.y = cuda_out(c, out, 0);
    a.dgamma = cuda_out(c, out, 1);
    a.dbeta = cuda_out(c, out, 2);
    return launch(state, c, &a);
}

static tutti_status run_totals(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    a.x = cuda_in(c, in, 0);
    a.totals = out[0];
    return launch(state, c, &a);
}

static tutti_status run_across(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    set_training(&a, c, in, out, 6);
    a.totals = (double *)(uintptr_t)in[5];
    return launch(state, c, &a);
}

static tutti_status run_across_totals(void *state, const tutti_op_call *c,
                                      const void *const *in, void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    set_grad(&a, c, in, 5);
    a.totals = out[0];
    a.dgamma = cuda_out(c, out, 1);
    a.dbeta = cuda_out(c, out, 2);
    return launch(state, c, &a);
}

static tutti_status run_across_grad(void *state, const tutti_op_call *c, const void *const *in,
                                    void *const *out, void *scratch)
{
    batch_norm_cuda_args a = args_of(state, c, scratch);
    set_grad(&a, c, in, 6);
    a.totals = (double *)(uintptr_t)in[5];
    a.y = cuda_out(c, out, 0);
    return launch(state, c, &a);
}

const tutti_kernel batch_norm_cuda = {sizeof(tutti_kernel), 33, prepare, run, free};
const tutti_kernel batch_norm_eval_cuda = {sizeof(tutti_kernel), 33, prepare_eval, run_eval,
                                           free};
const tutti_kernel batch_norm_apply_cuda = {sizeof(tutti_kernel), 33, prepare_apply, run_apply,
                                            free};
const tutti_kernel batch_norm_grad_cuda = {sizeof(tutti_kernel), 3, prepare_grad, run_grad,
                                           free};
const tutti_kernel batch_norm_totals_cuda = {sizeof(tutti_kernel), 0, prepare_totals,
                                             run_totals, free};
const tutti_kernel batch_norm_across_cuda = {sizeof(tutti_kernel), 65, prepare_across,
                                             run_across, free};
const tutti_kernel batch_norm_across_totals_cuda = {
    sizeof(tutti_kernel), 0, prepare_across_totals, run_across_totals, free};
const tutti_kernel batch_norm_across_grad_cuda = {sizeof(tutti_kernel), 3, prepare_across_grad,
                                                  run_across_grad, free};
