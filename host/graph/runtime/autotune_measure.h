/* autotune_measure.h - autotuning: an operation's candidate algorithms, their names and their times. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_MEASURE_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_MEASURE_H

#include "tutti/op.h"

#include <stdbool.h>

enum { AUTOTUNE_MAX_ALGORITHMS = 8 };

/* NULL behind the last algorithm, or for k = 0 where there is one algorithm only. */
const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k);
/* The fastest algorithm for this call among those whose results agree.  Each is tried; then they run in rounds, which take a
 * twelfth of the `*left` seconds, or 15 ms where that is more, and one round at least; what they take is subtracted from
 * them.  False when the measurement is not complete: for want of memory, or because nothing ran.  What it gives then can
 * be used, but says nothing of the next time.  [control] */
bool autotune_measure(const tutti_op *op, const tutti_op_call *c, double *left,
                      uint32_t *ret_algorithm);

#endif
