/* same_tree.h - whether a net's modules are still those that its model builds. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_SAME_TREE_H
#define HOST_GRAPH_NET_SAME_TREE_H

#include "graph/net/net.h"

/* Builds the modules of the model, an instance, once more, from its settings and the same columns, and compares kinds,
 * names, and the names and shapes of weights.  No weight gets memory.
 * Errors: E_STATE names the first module that is another; those of opening and building.  [control] */
TUTTI_NODISCARD tutti_status net_check_unchanged(const net *n, tutti_error *err);

#endif
