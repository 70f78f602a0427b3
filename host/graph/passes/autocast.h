/* autocast.h - mixed precision, as a pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_AUTOCAST_H
#define HOST_GRAPH_PASSES_AUTOCAST_H

#include "graph/ir/precision.h"

/* Copies `from` into the empty graph `to` by the rules of precision.h.  ret_map[v]: what `v` is in `to`.  Errors name
 * module path and op. */
TUTTI_NODISCARD tutti_status autocast_graph(const graph *from, const graph_autocast *autocast,
                                            graph *to, tutti_value *ret_map, tutti_error *err);

#endif
