/* softmax_cross_entropy_cuda.c - cross entropy and its gradient on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax_cross_entropy/softmax_cross_entropy_cuda.h"

#include "common/cuda/rows.h"
#include "softmax_cross_entropy/softmax_cross_entropy.h"

/* The device functions take a struct alone; the function is the state. */
static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "softmax_cross_entropy_rows", ret_state, err,
                         sizeof(xent_cuda_args));
}

/* Of a row that a block keeps; 0: none does. */
static uint32_t kept_bytes(const tutti_op_call *c)
{
    const int64_t n = xent_classes(c);
    const uint64_t bytes = (uint64_t)n * tutti_dtype_size(c->in[0].dtype);
    const uint64_t most =
        c->cuda->shared_bytes < XENT_KEPT_MOST ? c->cuda->shared_bytes : XENT_KEPT_MOST;
    return cuda_row_is_whole(n) && bytes <= most ? (uint32_t)bytes : 0;
}

static tutti_status grad_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c,
                         kept_bytes(c) ? "softmax_cross_entropy_grad_kept"
                                       : "softmax_cross_entropy_grad_rows",
                         ret_state, err, sizeof(xent_cuda_args));
}

static tutti_status and_grad_prepare(const tutti_op_call *c, void **ret_state,
                                     uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c,
                         kept_bytes(c) ? "softmax_cross_entropy_and_grad_kept"
                                       : "softmax_cross_entropy_and_grad_rows",
                         ret_state, err, sizeof(xent_cuda_args));
}

static xent_cuda_args args_of(const tutti_op_call *c, const void *const *in, void *const *out)
{
    const int64_t n = xent_classes(c);
    return (xent_cuda_args){.logits = cuda_in(c, in, 0),
                            .target = cuda_in(c, in, 1),
                            .out = cuda_out(c, out, 0),
                            .rows = xent_rows(&c->in[0]),
                            .n = n,
                            .pitch = xent_pitch(&c->in[0]),
                            .ignored = ((const xent_attr *)c->attr)->ignore_index,
                            .fault = c->cuda->fault,
                            .mark = c->cuda->mark,
                            .soft = xent_is_soft(c),
                            .whole = cuda_row_is_whole(n)};
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)scratch;
    xent_cuda_args a = args_of(c, in, out);
    return tutti_numel(&c->out[0]) == 0
               ? TUTTI_OK
               : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             CUDA_BLOCK, 0, (void *const[]){&a});
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)scratch;
    xent_cuda_args a = args_of(c, in, out);
    a.dloss = cuda_in(c, in, 2);
    if (c->nout > 1)
        a.loss = cuda_out(c, out, 1);
    return tutti_numel(&c->out[0]) == 0
               ? TUTTI_OK
               : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             a.whole ? XENT_GRAD_BLOCK : CUDA_BLOCK, kept_bytes(c),
                             (void *const[]){&a});
}

const tutti_kernel xent_cuda = {sizeof(tutti_kernel), 0, prepare, run, NULL};
const tutti_kernel xent_grad_cuda = {sizeof(tutti_kernel), 1, grad_prepare, grad_run, NULL};
const tutti_kernel xent_and_grad_cuda = {sizeof(tutti_kernel), 1, and_grad_prepare, grad_run,
                                         NULL};
