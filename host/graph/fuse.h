/* fuse.h - several nodes as one, before the gradient is taken. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_FUSE_H
#define HOST_GRAPH_FUSE_H

#include "graph/graph.h"

/* Copies `from`, which has one segment, into the empty graph `to`, with every normalisation that a
 * ReLU follows, directly or after the addition of a residual, as one node where the ReLU was.
 * `wanted[v]`: value `v` is read after the graph and stays.  ret_map[v]: what `v` is in `to`; 0 for
 * what went into a node.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status fuse_norms(const graph *from, const bool *wanted, graph *to,
                                        tutti_value *ret_map, tutti_error *err);

#endif
