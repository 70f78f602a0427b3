/* packed_operands.h - operands of steps that are packed weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_PACKED_OPERANDS_H
#define HOST_GRAPH_PROGRAM_PACKED_OPERANDS_H

#include "graph/program/program_internal.h"

/* Of a step whose kernel is prepared: takes its packs of `of`, which outlives the program.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status packed_operands_take(program *p, const weight_packs *of, step *s,
                                                  tutti_error *err);
void packed_operands_give(program *p);
/* Before the step runs on the host: packs what has changed. */
void packed_operands_refresh(const program *p, const step *s);

#endif
