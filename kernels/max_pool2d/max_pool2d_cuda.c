/* max_pool2d_cuda.c - max pooling on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "max_pool2d/max_pool2d_cuda.h"

#include "common/cuda/launch.h"
#include "max_pool2d/max_pool2d.h"

/* Channels of a thread. */
static int64_t width_of(const tutti_op_call *c)
{
    return c->out[0].dim[3] % 8 == 0 ? 8 : 1;
}

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_state,
                        tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_state, err, sizeof(max_pool2d_cuda_args));
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_scratch;
    return one(c, width_of(c) == 8 ? "max_pool2d_8" : "max_pool2d_1", ret_state, err);
}

static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return one(c, width_of(c) == 8 ? "max_pool2d_grad_8" : "max_pool2d_grad_1", ret_state, err);
}

static tutti_status prepare_gather(const tutti_op_call *c, void **ret_state,
                                   uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return one(c, "max_pool2d_gather", ret_state, err);
}

/* A thread for every `width` elements of the result. */
static tutti_status launch(void *state, const tutti_op_call *c, max_pool2d_cuda_args *a,
                           int64_t width)
{
    const int64_t n = tutti_numel(&c->out[0]) / width;
    a->fault = c->cuda->fault;
    a->mark = c->cuda->mark;
    return n == 0 ? TUTTI_OK
                  : cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0,
                                (void *const[]){a});
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)scratch;
    max_pool2d_cuda_args a = {.from = cuda_in(c, in, 0),
                              .to = cuda_out(c, out, 0),
                              .index = out[1],
                              .geometry = pool_geometry_of(c->attr, &c->in[0], &c->out[0])};
    return launch(state, c, &a, width_of(c));
}

static tutti_status run_grad(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)scratch;
    max_pool2d_cuda_args a = {.from = cuda_in(c, in, 0),
                              .to = cuda_out(c, out, 0),
                              .index = (int32_t *)(uintptr_t)in[1],
                              .geometry = pool_geometry_of(c->attr, &c->out[0], &c->in[0])};
    return launch(state, c, &a, width_of(c));
}

static tutti_status run_gather(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    (void)scratch;
    max_pool2d_cuda_args a = {.from = cuda_in(c, in, 0),
                              .to = cuda_out(c, out, 0),
                              .index = (int32_t *)(uintptr_t)in[1],
                              .geometry = pool_geometry_of(c->attr, &c->in[0], &c->out[0])};
    return launch(state, c, &a, 1);
}

const tutti_kernel max_pool2d_cuda = {sizeof(tutti_kernel), 0, prepare, run, NULL};
const tutti_kernel max_pool2d_grad_cuda = {sizeof(tutti_kernel), 0, prepare_grad, run_grad,
                                           NULL};
const tutti_kernel max_pool2d_gather_cuda = {sizeof(tutti_kernel), 0, prepare_gather,
                                             run_gather, NULL};
