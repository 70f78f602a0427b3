/* constant_fold.h - nodes that need not be: constants worked out now, operations that change nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_CONSTANT_FOLD_H
#define HOST_GRAPH_IR_CONSTANT_FOLD_H

#include "graph/ir/graph_internal.h"

/* The value that this node would give, where it is known without one: an operation over constants
 * is run now; one that gives its input back is that input.  0: it has to be a node. */
tutti_value constant_fold(graph *g, const tutti_op *op, const tutti_op_call *call,
                          const tutti_value *in, const tutti_desc *out);

#endif
