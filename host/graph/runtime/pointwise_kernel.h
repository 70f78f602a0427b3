/* pointwise_kernel.h - a chain of elementwise nodes, run tile by tile so that what is between stays in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_POINTWISE_KERNEL_H
#define HOST_GRAPH_RUNTIME_POINTWISE_KERNEL_H

#include "graph/ir/pool.h"
#include "graph/passes/pointwise_fusion.h"

enum { CHAIN_TILE = 4096 }; /* elements that a thread takes at a time */

typedef struct chain_link {
    const graph_node *node;
    tutti_op_call call; /* of one tile; run copies it */
    tutti_desc *descs;  /* nin, then the result */
    uint32_t *from;     /* operand by input: in[0..nin), then the results of links */
    int32_t out;    /* number of the output that this result is, or -1: it stays in the tile */
    int32_t buffer; /* -1 or the tile that keeps it; both: the output has 16 bits */
    int32_t cast;   /* the dtype that it casts to, or NONE: no cast */
} chain_link;

typedef struct chain {
    chain_link links[CHAIN_MAX_LINKS];
    tutti_value in[CHAIN_MAX_IN];
    tutti_value out[CHAIN_MAX_OUT];
    bool whole[CHAIN_MAX_IN];         /* one number that every element reads */
    uint32_t last_read[CHAIN_MAX_IN]; /* the last link that reads it */
    int32_t in_dtype[CHAIN_MAX_IN];
    int32_t out_dtype[CHAIN_MAX_OUT];
    int32_t in_buffer[CHAIN_MAX_IN]; /* -1 or the tile with its f32 numbers */
    int32_t bits;                    /* the tile where casts to 16 bits are rounded, or -1 */
    const tutti_kernel *cast;        /* NULL: there are no 16 bits */
    uint32_t nlinks, nin, nout, nbuffers;
    int64_t n;    /* elements */
    int64_t tile; /* elements; a multiple of 16 */
    int32_t threads;
    int32_t reserved;
} chain;

/* The chain that ends at node `end`, in `memory`.  NULL: out of memory. */
chain *chain_make(const graph *g, const bool *live, const bool *wanted, const uint32_t *ends,
                  uint32_t end, int32_t threads, pool *memory);
uint64_t chain_scratch(const chain *c); /* bytes */
/* What the operation "chain" is told of it, in `memory`; NULL: out of memory. */
const tutti_chain *chain_describe(const chain *c, pool *memory);
/* True when output `out` may lie where input `in` lay. */
bool chain_in_place(const chain *c, uint32_t out, uint32_t in);

/* A kernel's run, with the chain as its state and in the call its inputs and outputs. */
tutti_status chain_run(void *state, const tutti_op_call *call, const void *const *in,
                       void *const *out, void *scratch);

#endif
