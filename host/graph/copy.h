/* copy.h - what passes that copy a graph have in common. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_COPY_H
#define HOST_GRAPH_COPY_H

#include "graph/graph.h"

/* An input, a weight or a constant of `from`, in `to`. */
tutti_value graph_copy_leaf(const graph *from, tutti_value v, graph *to);

/* map[v]: what value v of `from` is in `to`. */
void graph_copy_assigns(const graph *from, graph *to, const tutti_value *map);

#endif
