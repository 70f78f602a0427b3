/* autotune_measure.h - autotuning: an operation's candidate algorithms, their names and their times. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_AUTOTUNE_MEASURE_H
#define HOST_GRAPH_RUNTIME_AUTOTUNE_MEASURE_H

#include "tutti/op.h"

#include <stdbool.h>

enum { AUTOTUNE_MAX_ALGORITHMS = 8 };

/* NULL behind the last algorithm, or for k = 0 where there is one algorithm only. */
const char *autotune_algorithm_name(const tutti_op *op, const tutti_op_call *c, uint32_t k);
typedef struct autotune_result {
    uint32_t algorithm; /* 0 where nothing ran */
    bool
        complete; /* false: for want of memory, or because nothing ran; it says nothing of the next time */
    bool disturbed; /* threads have waited for processors that other processes had */
} autotune_result;

/* The fastest algorithm for this call among those whose results agree.  Each is tried; then they run in rounds, which take a
 * twelfth of the `*left` seconds, or 15 ms where that is more, and one round at least, unless trials of 40 ms and more decide; what they take is subtracted from
 * them.  [control] */
autotune_result autotune_measure(const tutti_op *op, const tutti_op_call *c, double *left);

/* Whether other processes had so much of `cpus` processors in that time that it says little: threads of this one have waited
 * for one, and not for each other alone, as where some load data.  Seconds of all threads.  [any] */
bool autotune_disturbed(double seconds, double waited, double computed, int cpus);

#endif
