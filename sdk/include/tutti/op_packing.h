/* op_packing.h - operands that the CPU kernel of an operation packs, as it wants to read them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_OP_PACKING_H
#define TUTTI_OP_PACKING_H

#include "base.h"

#if TUTTI_USE_MINOR >= 2
TUTTI_C_BEGIN

struct tutti_op_call; /* op.h */

enum { TUTTI_PACKED_LAYOUT = 96 };

/* since 1.2: operands that a CPU kernel packs, as it wants to read them.  In plans without a backward pass the host keeps
 * weights so, and packs them when they have changed, not in each run.  `state` is what the kernel's prepare, or that of one
 * of its algorithms, has made. */
typedef struct tutti_packing {
    uint32_t struct_size;
    uint32_t reserved;
    /* Of operand k, packed; 0: `run` reads it as it lies.  `layout` gets a text: copies of one array are equal where this
     * table, the bytes and the text are, whatever the state.  [control] */
    uint64_t (*bytes)(void *state, const struct tutti_op_call *c, uint32_t k,
                      char layout[TUTTI_PACKED_LAYOUT]);
    /* `in` is what `run` would get; `to` is 64-byte aligned and distinct.  [step] */
    void (*pack)(void *state, const struct tutti_op_call *c, uint32_t k, const void *in,
                 void *to);
    /* From now on `run` reads operand k at `packed`, borrowed, and in[k] not at all; NULL: in[k] again.  Results have the
     * same bits.  [step] */
    void (*use)(void *state, uint32_t k, const void *packed);
} tutti_packing;

TUTTI_C_END
#endif
#endif
