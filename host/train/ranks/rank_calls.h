/* rank_calls.h - the beginning of an operation of tutti.ranks/1: all ranks call the same one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_RANK_CALLS_H
#define HOST_TRAIN_RANKS_RANK_CALLS_H

#include "dist/world.h"

enum { FRAME_BYTES = 104 }; /* of data in a frame */

/* What a rank calls; equal on all ranks. */
typedef enum call_kind {
    ALL_REDUCE,
    ALL_GATHER,
    ALL_GATHER_ANY,
    BROADCAST,
    BARRIER,
    FIRST,
    LOOP_EVENT /* none of a plugin's: the loop of `tutti run` behind an event */
} call_kind;
typedef struct call_header {
    uint64_t count; /* numbers, or bytes */
    int32_t kind;   /* call_kind */
    int32_t dtype;
    int32_t
        op; /* TUTTI_RANKS_*, the root, whether the first of each machine is meant, or the event */
    int32_t reserved;
} call_header;

/* The header, and a rank's data where they are few: then nothing else is exchanged. */
typedef struct call_frame {
    call_header header;
    uint64_t bytes;
    char data[FRAME_BYTES];
} call_frame;

/* Every rank's frame, by rank, which the caller frees, once all call what `header` says; `mine` has `bytes`.  One exchange.
 * Errors: E_ARG names the first rank whose header differs from rank 0's, with both; E_NOMEM; those of the exchange.  [step] */
TUTTI_NODISCARD tutti_status call_meet(world *w, const call_header *header, const void *mine,
                                       uint64_t bytes, call_frame **ret_all, tutti_error *err);
/* E_NOMEM, with a sentence. */
tutti_status call_no_memory(uint64_t bytes, tutti_error *err);

#endif
