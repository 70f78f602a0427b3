/* align_gemms.h - padded GEMMs: the columns that count, and the whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PASSES_ALIGN_GEMMS_H
#define HOST_GRAPH_PASSES_ALIGN_GEMMS_H

#include "graph/ir/graph.h"

/* Emits the first `columns` of the last dimension of `v`; `v` where it has no more.  0 after an error. */
tutti_value align_gemms_slice(graph *to, tutti_value v, int64_t columns);
/* What `v`, F32, is a cast of, in 16 bits and with the columns that align_gemms_slice took off: looks through both
 * operations.  `v`: it is no such cast. */
tutti_value align_gemms_look_through(const graph *g, tutti_value v);

#endif
