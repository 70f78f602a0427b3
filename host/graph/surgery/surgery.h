/* surgery.h - changes of a net's modules: what plugins ask of the tree, and the commit that ends them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_SURGERY_SURGERY_H
#define HOST_GRAPH_SURGERY_SURGERY_H

#include "graph/net/net.h"

/* The surgery service for plugins; lives with the net.  [control] */
const tutti_module_v1 *net_modules(net *n);

/* Ends a surgery: weights are gathered into flat arenas (weights, gradients; trainable ones first, in
 * each group in the order in which the backward pass completes them: by a trace where the columns
 * of net_build allow one, by the tree otherwise), plans of the old tree are dropped, version
 * goes up if anything changed.  Values survive.  [control] */
TUTTI_NODISCARD tutti_status net_commit(net *n, tutti_error *err);

/* Builds the modules of the model, an instance, once more, from its settings and the same columns, and compares kinds,
 * names, and the names and shapes of weights.  No weight gets memory.
 * Errors: E_STATE names the first module that is another; those of opening and building.  [control] */
TUTTI_NODISCARD tutti_status net_check_unchanged(const net *n, tutti_error *err);

#endif
