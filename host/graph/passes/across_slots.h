/* across_slots.h - statistics of the whole batch in place of one slot's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_ACROSS_SLOTS_H
#define HOST_GRAPH_PASSES_ACROSS_SLOTS_H

#include "graph/ir/graph.h"

/* Before the gradient is taken: copies `from` into the empty graph `to`, with every operation that says so
 * (tutti_internal/op_slots.h) by totals that a sum over slots joins.  `wanted` is not looked at; ret_map and errors as in
 * fuse.h, and E_UNSUPPORTED where a module normalises parts of a microbatch, as ghost_batchnorm does: other
 * slots may have another number of them. */
TUTTI_NODISCARD tutti_status across_slots(const graph *from, const bool *wanted, graph *to,
                                          tutti_value *ret_map, tutti_error *err);

#endif
