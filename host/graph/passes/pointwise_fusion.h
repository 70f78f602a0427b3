/* pointwise_fusion.h - groups of elementwise nodes, run tile by tile so that what is between stays in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_POINTWISE_FUSION_H
#define HOST_GRAPH_PASSES_POINTWISE_FUSION_H

#include "graph/ir/graph.h"

enum {
    POINTWISE_MAX_OPS = 16,
    POINTWISE_MAX_IN = 16,
    POINTWISE_MAX_OUT = 6,
};

/* For every node the last node of its group, which is where the whole group runs; its own number
 * for those that are alone.  Groups hold live nodes of one segment and guard whose elements belong
 * together one to one, f32 or 16 bits that are f32 within the group; nothing but the group reads a
 * member's result before its end.  `wanted[v]`: value `v` is read after the graph (a store, an
 * output).  `device`: the operation that a device runs them with, of TUTTI_ROLE_POINTWISE_GROUP; NULL: pointwise_kernel_run does.  Errors:
 * E_NOMEM. */
TUTTI_NODISCARD tutti_status pointwise_fusion_find(const graph *g, const bool *live,
                                                   const bool *wanted, const tutti_op *device,
                                                   uint32_t *ret_end, tutti_error *err);

/* Whether node `n` can be in a group, be it one of its own. */
bool pointwise_is_fusable(const graph *g, const graph_node *n);

/* Whether the device's operation for fused groups has that of node `n`. */
bool pointwise_is_known(const tutti_op *device, const graph_node *n);

#endif
