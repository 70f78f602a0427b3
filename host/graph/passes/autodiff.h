/* autodiff.h - reverse-mode automatic differentiation, from graph to graph. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_AUTODIFF_H
#define HOST_GRAPH_PASSES_AUTODIFF_H

#include "graph/ir/graph.h"

/* Emits the gradient of sum_k <dout[k], out[k]> for wrt[0..nwrt) into ret_d; 0 where none flows.
 * dout[k] may be 0.  Errors name module path and op and stick to the graph. */
TUTTI_NODISCARD tutti_status graph_gradient(graph *g, const tutti_value *out,
                                            const tutti_value *dout, uint32_t nout,
                                            const tutti_value *wrt, uint32_t nwrt,
                                            tutti_value *ret_d);
/* The same, each gradient added to onto[k], unless that is 0, as its parts come; what it is where none
 * flows. */
TUTTI_NODISCARD tutti_status graph_gradient_onto(graph *g, const tutti_value *out,
                                                 const tutti_value *dout, uint32_t nout,
                                                 const tutti_value *wrt,
                                                 const tutti_value *onto, uint32_t nwrt,
                                                 tutti_value *ret_d);

#endif
