/* group_norm_cuda.c - group norm and its gradient on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "group_norm/group_norm_cuda.h"

#include "common/cuda/rows.h"
#include "group_norm/group_norm.h"

#include <stdlib.h>

/* Device functions of a gradient. */
typedef struct steps {
    void *rows, *sums, *finish;
} steps;

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_function, err, sizeof(group_norm_cuda_args));
}

static group_norm_cuda_args args_of(const tutti_op_call *c)
{
    const group_norm_shape s = group_norm_shape_of(c);
    const group_norm_cuda_args a = {
        .rows = s.pixels ? s.samples * s.groups : 0,
        .pixels = s.pixels,
        .channels = s.channels,
        .groups = s.groups,
        .width = s.width,
        .sums = cuda_columns_of(s.samples * s.pixels, s.channels, c->cuda->multiprocessors, 4),
        .whole = cuda_row_is_whole(s.pixels * s.width),
        .eps = (float)s.eps};
    return a;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_scratch;
    return one(c, "group_norm_rows", ret_state, err);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    group_norm_cuda_args a = args_of(c);
    (void)scratch;
    a.x = cuda_in(c, in, 0);
    a.gamma = cuda_in(c, in, 1);
    a.beta = cuda_in(c, in, 2);
    a.y = cuda_out(c, out, 0);
    return a.rows == 0 ? TUTTI_OK
                       : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                                     CUDA_BLOCK, 0, (void *const[]){&a});
}

static uint64_t statistics_bytes(const group_norm_cuda_args *a)
{
    return ((uint64_t)a->rows * 2 * sizeof(float) + 63) / 64 * 64;
}

/* Scratch: statistics, then partial sums for gamma and beta. */
static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    static const char *const sums[] = {"group_norm_grad_sums_1", "group_norm_grad_sums_8"};
    const group_norm_cuda_args a = args_of(c);
    steps *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "group_norm: no memory for its device functions");
    tutti_status status = one(c, "group_norm_grad_rows", &s->rows, err);
    if (!status)
        status = one(c, sums[a.sums.width == 8], &s->sums, err);
    if (!status)
        status = one(c, "group_norm_grad_finish", &s->finish, err);
    if (status) {
        free(s);
        return status;
    }
    *ret_state = s;
    *ret_scratch = statistics_bytes(&a) + cuda_columns_scratch(&a.sums);
    return TUTTI_OK;
}

static tutti_status run_grad(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const steps *s = state;
    group_norm_cuda_args a = args_of(c);
    void *const args[] = {&a};
    tutti_status status = TUTTI_OK;
    a.x = cuda_in(c, in, 0);
    a.dy = cuda_in(c, in, 1);
    a.gamma = cuda_in(c, in, 2);
    a.y = cuda_out(c, out, 0);
    a.dgamma = cuda_out(c, out, 1);
    a.dbeta = cuda_out(c, out, 2);
    a.statistics = scratch;
    a.partials = (float *)(void *)((char *)scratch + statistics_bytes(&a));
    if (a.rows)
        status = cuda_launch(c->cuda, s->rows, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             CUDA_BLOCK, 0, args);
    if (a.rows && !status)
        status = cuda_launch(c->cuda, s->sums, (uint32_t)(a.sums.chunks * a.sums.parts),
                             CUDA_COLUMNS_BLOCK, 0, args);
    return status ? status
                  : cuda_launch(c->cuda, s->finish, cuda_finish_blocks(a.channels), CUDA_BLOCK,
                                0, args);
}

const tutti_kernel group_norm_cuda = {sizeof(tutti_kernel), 1, prepare, run, NULL};
const tutti_kernel group_norm_grad_cuda = {sizeof(tutti_kernel), 0, prepare_grad, run_grad,
                                           free};
