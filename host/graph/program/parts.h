/* parts.h - a program in parts, which end where it sums over the slots of a batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_PARTS_H
#define HOST_GRAPH_PROGRAM_PARTS_H

#include "graph/program/program.h"

/* A step of an operation with TUTTI_ROLE_SLOT_SUM has numbers of this slot, which the sum over all slots is to take the
 * place of.  Such steps keep their order whatever the shapes are. */

/* Replaces `count` numbers by their sum over all slots. */
typedef tutti_status (*program_sum_fn)(void *ctx, double *numbers, int64_t count,
                                       tutti_error *err);
/* From now on program_run calls `sum` behind each of these steps, on a device with copies of its numbers.  NULL ends it: each
 * slot then goes on with its own numbers. */
void program_sum(program *p, program_sum_fn sum, void *ctx);
/* Whether it does. */
bool program_is_summed(const program *p);

typedef struct program_pause {
    double *numbers; /* where the program runs; NULL: the segment is over */
    int64_t count;
} program_pause;

/* Runs a segment from step *at, counted from 0, to behind the next of these steps, whose numbers are then to be replaced, or
 * to its end; *at is where to go on.  A device may still have it to do.  The places of all results may be others in the next
 * part, with what they hold.  Errors: those of program_run.  [step] */
TUTTI_NODISCARD tutti_status program_run_part(program *p, int32_t segment, uint32_t *at,
                                              const tutti_step *step, program_pause *ret_pause,
                                              tutti_error *err);
/* How many numbers each of these steps of a segment has, in order: at most `most`; how many steps there are. */
uint32_t program_sums(const program *p, int32_t segment, int64_t *ret_counts, uint32_t most);
/* From now on what lies in [from, from + bytes), such as gradients, lies at `to`; NULL: where it does.  One range at a
 * time. */
void program_move(program *p, const void *from, uint64_t bytes, void *to);

#endif
