/* pointwise_kernel.h - a group of elementwise nodes, run tile by tile so that what is between stays in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_POINTWISE_KERNEL_H
#define HOST_GRAPH_RUNTIME_POINTWISE_KERNEL_H

#include "graph/ir/pool.h"
#include "graph/passes/pointwise_fusion.h"
#include "tutti/pointwise_group.h"

/* Elements that a thread takes at a time: as many as the first cache holds of all that a group reads, keeps and
 * writes, within these limits. */
enum { POINTWISE_TILE = 4096, POINTWISE_TILE_LEAST = 512, POINTWISE_CACHE = 32768 };

typedef struct pointwise_op {
    const graph_node *node;
    tutti_op_call call;  /* of one tile; run copies it */
    tutti_desc *descs;   /* nin, then the result */
    uint32_t *from;      /* operand by input: in[0..nin), then the results of ops */
    uint32_t first_uses; /* bit j: operand j is an input that no op before reads */
    uint32_t last_read;  /* the last op that reads the result, or this one */
    int32_t out;    /* number of the output that this result is, or -1: it stays in the tile */
    int32_t buffer; /* -1 or the buffer of its f32 numbers; both: the output has 16 bits */
    int32_t bits;   /* -1 or the buffer where a cast to 16 bits is rounded */
    int32_t cast;   /* the dtype that it casts to, or NONE: no cast */
} pointwise_op;

typedef struct pointwise_kernel {
    pointwise_op ops[POINTWISE_MAX_OPS];
    tutti_value in[POINTWISE_MAX_IN];
    tutti_value out[POINTWISE_MAX_OUT];
    bool whole[POINTWISE_MAX_IN];         /* one number that every element reads */
    uint32_t last_read[POINTWISE_MAX_IN]; /* the last op that reads it */
    int32_t in_dtype[POINTWISE_MAX_IN];
    int32_t out_dtype[POINTWISE_MAX_OUT];
    int32_t in_buffer[POINTWISE_MAX_IN]; /* -1 or the buffer of its f32 numbers */
    const tutti_kernel *cast;            /* NULL: there are no 16 bits */
    uint32_t nops, nin, nout;
    uint32_t nbuffers; /* a thread's, of a tile of f32 each */
    int64_t n;         /* elements */
    int64_t tile;      /* elements; a multiple of 16 */
    int32_t threads;
    int32_t reserved;
} pointwise_kernel;

/* The group that ends at node `end`, in `memory`.  NULL: out of memory. */
pointwise_kernel *pointwise_kernel_make(const graph *g, const bool *live, const bool *wanted,
                                        const uint32_t *ends, uint32_t end, int32_t threads,
                                        pool *memory);
/* Gives what is read more than once or has 16 bits the least buffers that do: one is taken again as soon as nothing
 * reads what it keeps.  pointwise_kernel_make's. */
void pointwise_buffers_assign(pointwise_kernel *c);
/* Does op `k` read operand j once, and may its result lie there? */
bool pointwise_op_in_place(const pointwise_op *l, uint32_t j);
uint64_t pointwise_kernel_scratch(const pointwise_kernel *c); /* bytes */
/* What the operation of a device is told of it, in `memory`; NULL: out of memory. */
const tutti_pointwise_group *pointwise_kernel_describe(const pointwise_kernel *c, pool *memory);
/* True when output `out` may lie where input `in` lay. */
bool pointwise_kernel_in_place(const pointwise_kernel *c, uint32_t out, uint32_t in);

/* A kernel's run, with the group as its state and in the call its inputs and outputs. */
tutti_status pointwise_kernel_run(void *state, const tutti_op_call *call, const void *const *in,
                                  void *const *out, void *scratch);

#endif
