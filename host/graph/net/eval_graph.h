/* eval_graph.h - a net's forward pass in evaluation mode as a graph, for who writes it down. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_EVAL_GRAPH_H
#define HOST_GRAPH_NET_EVAL_GRAPH_H

#include "graph/ir/graph.h"
#include "graph/net/net.h"

enum { EVAL_GRAPH_MAX_OUTPUTS = 16 };

/* Neither folded nor fused, in f32. */
typedef struct eval_graph {
    graph *g;
    uint32_t ninputs;
    uint32_t noutputs;
    const char *names[TUTTI_MAX_COLUMNS]; /* of the inputs: columns of a batch; the model's */
    tutti_value inputs[TUTTI_MAX_COLUMNS];
    tutti_value outputs[EVAL_GRAPH_MAX_OUTPUTS];
} eval_graph;

/* Of `samples` samples as the columns of net_build describe them.  The weights have been committed.
 * Errors: E_SHAPE a column leaves a dimension open; those of the trace.  [control] */
TUTTI_NODISCARD tutti_status eval_graph_trace(net *n, int64_t samples, eval_graph *ret,
                                              tutti_error *err);
void eval_graph_fini(eval_graph *e); /* also of zeros */
/* The weight that a value of kind VALUE_WEIGHT names by `id`. */
const tutti_weight *eval_graph_weight(const net *n, uint32_t id);

#endif
