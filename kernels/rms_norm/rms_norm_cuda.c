/* rms_norm_cuda.c - RMS norm and its gradient on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rms_norm/rms_norm_cuda.h"

#include "common/cuda/rows.h"
#include "rms_norm/rms_norm.h"

#include <stdlib.h>

/* Device functions of a gradient's node, in the order in which they run. */
typedef struct steps {
    void *sums, *rows, *finish;
} steps;

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_function, err, sizeof(rms_norm_cuda_args));
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_scratch;
    return one(c, "rms_norm_rows", ret_state, err);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)scratch;
    rms_norm_cuda_args a = {.x = cuda_in(c, in, 0),
                            .gamma = cuda_in(c, in, 1),
                            .y = cuda_out(c, out, 0),
                            .rstd = cuda_out(c, out, 1),
                            .rows = rms_norm_rows(&c->in[0]),
                            .n = rms_norm_width(&c->in[0]),
                            .eps = (float)((const rms_norm_attr *)c->attr)->eps};
    a.whole = cuda_row_is_whole(a.n);
    return a.rows == 0 ? TUTTI_OK
                       : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                                     CUDA_BLOCK, 0, (void *const[]){&a});
}

static cuda_columns columns_of(const tutti_op_call *c)
{
    return cuda_columns_of(rms_norm_rows(&c->in[0]), rms_norm_width(&c->in[0]),
                           c->cuda->multiprocessors, 4);
}

/* Scratch: partial sums for gamma. */
static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    static const char *const sums[] = {"rms_norm_grad_sums_1", "rms_norm_grad_sums_8"};
    const cuda_columns g = columns_of(c);
    steps *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "rms_norm: no memory for its device functions");
    tutti_status status = one(c, sums[g.width == 8], &s->sums, err);
    if (!status)
        status = one(c, "rms_norm_grad_rows", &s->rows, err);
    if (!status)
        status = one(c, "rms_norm_grad_finish", &s->finish, err);
    if (status) {
        free(s);
        return status;
    }
    *ret_state = s;
    *ret_scratch = cuda_columns_scratch(&g);
    return TUTTI_OK;
}

static tutti_status run_grad(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const steps *s = state;
    rms_norm_cuda_args a = {.x = cuda_in(c, in, 0),
                            .dy = cuda_in(c, in, 1),
                            .gamma = cuda_in(c, in, 2),
                            .rstd = cuda_in(c, in, 3),
                            .more = c->nin > 4 ? cuda_in(c, in, 4) : (cuda_tensor){0},
                            .y = cuda_out(c, out, 0),
                            .dgamma = cuda_out(c, out, 1),
                            .rows = rms_norm_rows(&c->in[0]),
                            .n = rms_norm_width(&c->in[0]),
                            .partials = scratch,
                            .sums = columns_of(c)};
    void *const args[] = {&a};
    tutti_status status = TUTTI_OK;
    a.parts = a.rows ? a.sums.parts : 0;
    a.whole = cuda_row_is_whole(a.n);
    if (a.rows)
        status = cuda_launch(c->cuda, s->sums, (uint32_t)(a.sums.chunks * a.sums.parts),
                             CUDA_COLUMNS_BLOCK, 0, args);
    if (a.rows && !status)
        status = cuda_launch(c->cuda, s->rows, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             CUDA_BLOCK, 0, args);
    return status
               ? status
               : cuda_launch(c->cuda, s->finish, cuda_finish_blocks(a.n), CUDA_BLOCK, 0, args);
}

const tutti_kernel rms_norm_cuda = {
    .struct_size = sizeof(tutti_kernel), .inplace = 1, .prepare = prepare, .run = run};
const tutti_kernel rms_norm_grad_cuda = {.struct_size = sizeof(tutti_kernel),
                                         .inplace = 19,
                                         .prepare = prepare_grad,
                                         .run = run_grad,
                                         .destroy = free};
