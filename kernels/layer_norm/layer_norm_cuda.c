/* layer_norm_cuda.c - layer norm and its gradient on the GPU: what is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_norm/layer_norm_cuda.h"

#include "common/cuda/rows.h"
#include "layer_norm/layer_norm.h"

#include <stdlib.h>

/* Device functions of one node. */
typedef struct steps {
    void *rows;   /* y, or dx */
    void *sums;   /* of the gradient, before rows; NULL: rows does it too */
    void *finish; /* of the gradient */
} steps;

/* The smallest of the numbers of registers that there are for rows of n; 0: none is enough. */
static int held_for(int64_t n, int most)
{
    static const int there[] = {1, 2, 3, 4, 8};
    for (size_t k = 0; n % 8 == 0 && k < sizeof there / sizeof *there; k++)
        if (there[k] <= most && n <= 256 * there[k])
            return there[k];
    return 0;
}

static tutti_status one(const tutti_op_call *c, const char *entry, void **ret_function,
                        tutti_error *err)
{
    return CUDA_FUNCTION(c, entry, ret_function, err, sizeof(layer_norm_cuda_args));
}

static cuda_columns columns_of(const tutti_op_call *c)
{
    return cuda_columns_of(layer_norm_rows(&c->in[0]), layer_norm_width(&c->in[0]),
                           c->cuda->multiprocessors, 4);
}

static uint32_t grad_threads(int64_t n)
{
    return held_for(n, LAYER_NORM_GRAD_HELD) == 4 ? LAYER_NORM_GRAD_BLOCK_4
                                                  : LAYER_NORM_GRAD_BLOCK;
}

/* Blocks of the gradient whose rows are held: each leaves a partial sum, so there are few. */
static uint32_t grad_blocks(const tutti_op_call *c)
{
    const uint32_t want = cuda_row_blocks(c->cuda, layer_norm_rows(&c->in[0]), 0);
    const uint32_t most = 2 * (uint32_t)c->cuda->multiprocessors;
    return want < most ? want : most;
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    static const char *const held[] = {"layer_norm_rows",   "layer_norm_held_1",
                                       "layer_norm_held_2", "layer_norm_held_3",
                                       "layer_norm_held_4", [8] = "layer_norm_held_8"};
    (void)ret_scratch;
    return one(c, held[held_for(layer_norm_width(&c->in[0]), LAYER_NORM_HELD)], ret_state, err);
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)scratch;
    layer_norm_cuda_args a = {.x = cuda_in(c, in, 0),
                              .gamma = cuda_in(c, in, 1),
                              .beta = cuda_in(c, in, 2),
                              .y = cuda_out(c, out, 0),
                              .mean = cuda_out(c, out, 1),
                              .rstd = cuda_out(c, out, 2),
                              .low = c->nout > 3 ? cuda_out(c, out, 3) : (cuda_tensor){0},
                              .rows = layer_norm_rows(&c->in[0]),
                              .n = layer_norm_width(&c->in[0]),
                              .eps = (float)((const layer_norm_attr *)c->attr)->eps};
    const int held = held_for(a.n, LAYER_NORM_HELD);
    a.whole = !held && cuda_row_is_whole(a.n);
    return a.rows == 0 ? TUTTI_OK
                       : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                                     CUDA_BLOCK, 0, (void *const[]){&a});
}

/* Of dy, where all else that a gradient touches is F32: 1 F32, 2 BF16; 0: as it comes. */
static int kind_of(const tutti_op_call *c)
{
    const int32_t dy = c->in[1].dtype;
    int f32 = c->out[0].dtype == TUTTI_F32;
    for (uint32_t k = 0; k < c->nin; k++)
        f32 &= k == 1 || c->in[k].dtype == TUTTI_F32;
    return !f32 ? 0 : dy == TUTTI_F32 ? 1 : dy == TUTTI_BF16 ? 2 : 0;
}

/* Scratch: partial sums for gamma and beta. */
static tutti_status prepare_grad(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    static const char *const held[][3] = {
        {"layer_norm_grad_rows", "layer_norm_grad_rows", "layer_norm_grad_rows"},
        {"layer_norm_grad_held_1", "layer_norm_grad_held_1_f32", "layer_norm_grad_held_1_bf16"},
        {"layer_norm_grad_held_2", "layer_norm_grad_held_2_f32", "layer_norm_grad_held_2_bf16"},
        {"layer_norm_grad_held_3", "layer_norm_grad_held_3_f32", "layer_norm_grad_held_3_bf16"},
        {"layer_norm_grad_held_4", "layer_norm_grad_held_4_f32",
         "layer_norm_grad_held_4_bf16"}};
    static const char *const sums[] = {"layer_norm_grad_sums_1", "layer_norm_grad_sums_8"};
    const int64_t n = layer_norm_width(&c->in[0]);
    const int registers = held_for(n, LAYER_NORM_GRAD_HELD);
    const cuda_columns g = columns_of(c);
    steps *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "layer_norm: no memory for its device functions");
    tutti_status status = one(c, held[registers][kind_of(c)], &s->rows, err);
    if (!status && !registers)
        status = one(c, sums[g.width == 8], &s->sums, err);
    if (!status)
        status = one(c, "layer_norm_grad_finish", &s->finish, err);
    if (status) {
        free(s);
        return status;
    }
    *ret_state = s;
    *ret_scratch = registers ? (uint64_t)grad_blocks(c) * 2 * (uint64_t)n * sizeof(float)
                             : cuda_columns_scratch(&g);
    return TUTTI_OK;
}

static tutti_status run_grad(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const steps *s = state;
    layer_norm_cuda_args a = {.x = cuda_in(c, in, 0),
                              .dy = cuda_in(c, in, 1),
                              .gamma = cuda_in(c, in, 2),
                              .mean = cuda_in(c, in, 3),
                              .rstd = cuda_in(c, in, 4),
                              .more = c->nin > 5 ? cuda_in(c, in, 5) : (cuda_tensor){0},
                              .y = cuda_out(c, out, 0),
                              .dgamma = cuda_out(c, out, 1),
                              .dbeta = cuda_out(c, out, 2),
                              .low = c->nout > 3 ? cuda_out(c, out, 3) : (cuda_tensor){0},
                              .rows = layer_norm_rows(&c->in[0]),
                              .n = layer_norm_width(&c->in[0]),
                              .partials = scratch,
                              .sums = columns_of(c)};
    void *const args[] = {&a};
    uint32_t blocks = grad_blocks(c), threads = grad_threads(a.n);
    tutti_status status = TUTTI_OK;
    a.parts = (int32_t)blocks;
    if (s->sums) {
        a.parts = a.sums.parts;
        a.whole = cuda_row_is_whole(a.n);
        threads = CUDA_BLOCK;
        blocks = cuda_row_blocks(c->cuda, a.rows, a.whole);
        if (a.rows)
            status = cuda_launch(c->cuda, s->sums, (uint32_t)(a.sums.chunks * a.sums.parts),
                                 CUDA_COLUMNS_BLOCK, 0, args);
    }
    if (a.rows == 0)
        a.parts = 0;
    else if (!status)
        status = cuda_launch(c->cuda, s->rows, blocks, threads, 0, args);
    return status
               ? status
               : cuda_launch(c->cuda, s->finish, cuda_finish_blocks(a.n), CUDA_BLOCK, 0, args);
}

const tutti_kernel layer_norm_cuda = {sizeof(tutti_kernel), 1, prepare, run, NULL};
const tutti_kernel layer_norm_grad_cuda = {sizeof(tutti_kernel), 35, prepare_grad, run_grad,
                                           free};
