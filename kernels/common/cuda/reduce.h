/* reduce.h - reductions over any axes on the GPU: their shape, and what descriptors call. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_REDUCE_H
#define KERNELS_COMMON_CUDA_REDUCE_H

#include "common/cuda/index_iter.h"

/* How blocks share the work; by shape alone, so that results are the same on every device.  `along`
 * threads take what joins in one result, in `pieces` pieces of a block each. */
typedef struct cuda_reduction {
    cuda_index_iter kept; /* result -> its first element */
    cuda_index_iter over; /* element of a result -> how much further on */
    int64_t piece;        /* elements */
    int32_t pieces;
    int32_t along;
    int32_t columns; /* neighbouring threads have neighbouring results, not elements */
    int32_t reserved;
    double scale;
} cuda_reduction;

#ifndef __cplusplus

#include "common/cuda/launch.h"
#include "common/reduce.h"

#include <stdlib.h>

static inline int64_t cuda_reduction_tiles(const cuda_reduction *r)
{
    const int64_t wide = CUDA_BLOCK / r->along;
    return (r->kept.n + wide - 1) / wide;
}

static inline cuda_reduction cuda_reduction_of(const reduction *from, double scale)
{
    cuda_reduction r = {.along = 32, .scale = scale};
    int64_t stride[TUTTI_MAX_RANK], next = 1;
    for (int32_t k = from->rank - 1; k >= 0; k--) {
        stride[k] = next;
        next *= from->dim[k];
    }
    for (int32_t k = 0; k < from->rank; k++)
        cuda_index_iter_add(from->reduced[k] ? &r.over : &r.kept, from->dim[k],
                            (const int64_t[CUDA_ITER_OPERANDS]){stride[k]});
    cuda_index_iter_end(&r.kept);
    cuda_index_iter_end(&r.over);
    const cuda_index_iter *kept = &r.kept, *over = &r.over;
    const int64_t inside = over->stride[0][over->rank - 1];
    r.columns = inside != 1;
    if (r.columns)
        for (r.along = 8; r.along < CUDA_BLOCK && CUDA_BLOCK / r.along > 2 * kept->n;
             r.along *= 2) {
        }
    else if (over->n >= 2048)
        r.along = CUDA_BLOCK;
    /* rows that begin at multiples of 8 and have whole groups */
    r.over.group = !r.columns && over->rank == 1 && over->n % 8 == 0 ? 8 : 1;
    const int64_t tiles = cuda_reduction_tiles(&r), unit = 8 * (int64_t)r.along;
    int64_t pieces = tiles < 1 ? 1 : 1024 / tiles; /* as many blocks as fill any device */
    if (pieces > (over->n + 2 * unit - 1) / (2 * unit))
        pieces = (over->n + 2 * unit - 1) / (2 * unit);
    pieces = pieces < 1 ? 1 : pieces;
    r.piece = ((over->n + pieces - 1) / pieces + unit - 1) / unit * unit;
    r.pieces = (int32_t)(over->n ? (over->n + r.piece - 1) / r.piece : 1);
    return r;
}

/* Of an operation's node: the functions <op>_cuda and, for several pieces, <op>_join_cuda. */
typedef struct cuda_reducer {
    cuda_reduction shape;
    void *pieces;
    void *join;
} cuda_reducer;

static inline tutti_status cuda_reduce_prepare(const tutti_op_call *c, const reduction *over,
                                               double scale, const char *pieces,
                                               const char *join, void **ret_state,
                                               uint64_t *ret_scratch, tutti_error *err)
{
    cuda_reducer *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its state", pieces);
    r->shape = cuda_reduction_of(over, scale);
    tutti_status s = CUDA_FUNCTION(c, pieces, &r->pieces, err, sizeof(cuda_reduction),
                                   sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(void *));
    if (!s)
        s = CUDA_FUNCTION(c, join, &r->join, err, sizeof(void *), sizeof(cuda_tensor),
                          sizeof(int64_t), sizeof(int32_t), sizeof(double));
    if (s) {
        free(r);
        return s;
    }
    if (r->shape.pieces > 1)
        *ret_scratch = (uint64_t)r->shape.kept.n * (uint64_t)r->shape.pieces * sizeof(double);
    *ret_state = r;
    return TUTTI_OK;
}

static inline tutti_status cuda_reduce_run(void *state, const tutti_op_call *c,
                                           const void *const *in, void *const *out,
                                           void *scratch)
{
    cuda_reducer *r = state;
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    int64_t results = r->shape.kept.n;
    if (results == 0)
        return TUTTI_OK;
    void *const args[] = {&r->shape, &x, &y, &scratch};
    const uint32_t blocks =
        (uint32_t)(cuda_reduction_tiles(&r->shape) * (int64_t)r->shape.pieces);
    const tutti_status s = cuda_launch(c->cuda, r->pieces, blocks, CUDA_BLOCK, 0, args);
    if (s || r->shape.pieces == 1)
        return s;
    void *const join[] = {&scratch, &y, &results, &r->shape.pieces, &r->shape.scale};
    return cuda_launch(c->cuda, r->join, (uint32_t)((results + 7) / 8), CUDA_BLOCK, 0, join);
}

/* Defines `cuda` (after OP_DEFINE's other members) from make(c), the reduction, and an expression for
 * the scale. */
#define CUDA_REDUCE_KERNEL(op, make, scale)                                                    \
    static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,                 \
                                     uint64_t *ret_scratch, tutti_error *err)                  \
    {                                                                                          \
        const reduction r = make(c);                                                           \
        return cuda_reduce_prepare(c, &r, (scale), #op "_cuda", #op "_join_cuda", ret_state,   \
                                   ret_scratch, err);                                          \
    }                                                                                          \
    static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_reduce_run,  \
                                      free};

#endif
#endif
