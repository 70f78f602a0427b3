/* rematerialization.h - results of the forward pass that the backward pass could compute again. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_REMATERIALIZATION_H
#define HOST_GRAPH_PASSES_REMATERIALIZATION_H

#include "graph/ir/graph.h"

/* How much a training plan may rematerialize in the backward pass instead of keeping it. */
enum {
    REMATERIALIZE_OFF,   /* nothing */
    REMATERIALIZE_CHEAP, /* for less than a hundredth of a step's time */
    REMATERIALIZE_FULL,  /* all that makes the plan smaller */
};

/* Gives what segment 1 reads of cheap results of segment 0 (elementwise operations, casts, dropout,
 * layer_norm, batch_norm from its saved statistics, where the host's kernels run the activation behind a
 * product) a second node just before its first reader there:
 * the same operation of the same inputs, or batch_norm_apply, which gives the same bits.  Each such group
 * can run, or its results can be those of the first nodes: program.h decides.  `kept` values may
 * change between the segments: they are neither rematerialized nor read for that.  Nothing must be
 * emitted afterwards.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status rematerialization_offer(graph *g, const tutti_value *kept,
                                                     uint32_t nkept, bool host,
                                                     tutti_error *err);

#endif
