/* arena.h - packs intervals of time and size into one block of memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_ARENA_H
#define HOST_GRAPH_PROGRAM_ARENA_H

#include "tutti/base.h"

#include <stdbool.h>

/* Alive in steps first to last, both included. */
typedef struct arena_interval {
    uint64_t bytes;
    uint64_t offset; /* out; a multiple of 64 */
    uint32_t first;
    uint32_t last;
} arena_interval;

/* Greedy by size: the largest first, each at the lowest offset that is free for its whole life.
 * Writes the block's size.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status arena_pack(arena_interval *intervals, uint32_t n,
                                        uint64_t *ret_bytes, tutti_error *err);

/* True when two intervals that are alive at once share a byte; writes which. */
bool arena_overlap(const arena_interval *intervals, uint32_t n, uint32_t *ret_a,
                   uint32_t *ret_b);

#endif
