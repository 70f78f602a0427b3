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

/* What a device runs groups with. */
typedef struct pointwise_device {
    const tutti_op *op;        /* of TUTTI_ROLE_POINTWISE_GROUP */
    const tutti_cuda_v1 *cuda; /* NULL: that runs by no kernel of the host's for CUDA */
} pointwise_device;

/* For every node the last node of its group, which is where the whole group runs; its own number
 * for those that are alone.  Groups hold live nodes of one segment and guard whose elements belong
 * together one to one, f32 or 16 bits that are f32 within the group; nothing but the group reads a
 * member's result before its end.  `wanted[v]`: value `v` is read after the graph (a store, an
 * output).  `device`: what a device runs them with; NULL: pointwise_kernel_run does.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status pointwise_fusion_find(const graph *g, const bool *live,
                                                   const bool *wanted,
                                                   const pointwise_device *device,
                                                   uint32_t *ret_end, tutti_error *err);

/* Whether node `n` can be in a group, be it one of its own. */
bool pointwise_is_fusable(const graph *g, const graph_node *n);

/* OK where the device's operation for fused groups has that of node `n`; else *err tells why not.  Errors: those of its
 * infer. */
tutti_status pointwise_check_known(const pointwise_device *device, const graph_node *n,
                                   tutti_error *err);

#endif
