/* moments.h - sums of squares of the first moments that an optimizer keeps of weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIMIZER_MONITOR_MOMENTS_H
#define OPTIMIZER_MONITOR_MOMENTS_H

#include "../../common/squares.h"

/* Pieces whose moments lie one after the other. */
typedef struct moment_run {
    float *x;
    uint32_t first, end;
} moment_run;

typedef struct moments {
    squares *squares;
    moment_run *runs;
    int64_t *
        pieces; /* by piece: its offset from its run's x, and its length; 0: it has no moment */
    int64_t *table; /* the same on the device */
    uint32_t nruns;
    uint32_t reserved;
    uint64_t version; /* of the model's tree that there is room for */
} moments;

/* parts[k] of the squares = sum of the squares of the moments of piece k, where it has any.  Errors: E_UNSUPPORTED the
 * optimizer's state is elsewhere; E_NOMEM; those of the device. */
tutti_status moments_launch(moments *m, tutti_error *err);
void moments_fini(moments *m);

#endif
