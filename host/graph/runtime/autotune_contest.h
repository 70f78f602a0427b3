/* autotune_contest.h - the algorithms of an operation: their names, and one contest of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_CONTEST_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_CONTEST_H

#include "tutti/op.h"

#include <stdbool.h>

enum { AUTOTUNE_MAX_ALGORITHMS = 8 };

/* NULL behind the last algorithm, or for k = 0 where there is one algorithm only. */
const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k);
/* The fastest algorithm for this call among those whose results agree.  False when the contest was not held as it should:
 * for want of memory, or because nothing ran.  What it gives then can be used, but says nothing of the next time.
 * [control] */
bool autotune_contest(const tutti_op *op, const tutti_op_call *c, uint32_t *ret_algorithm);

#endif
