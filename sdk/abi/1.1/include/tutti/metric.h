/* metric.h - tutti.metric/1: a number gathered over batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_METRIC_H
#define TUTTI_METRIC_H

#include "tensor.h"

TUTTI_C_BEGIN

#define TUTTI_METRIC_V1 "tutti.metric/1"

/* One (micro)batch.  All views are borrowed for the call. */
typedef struct tutti_metric_input {
    uint32_t struct_size;
    uint32_t noutputs;
    const tutti_tensor *outputs; /* of the model */
    const tutti_tensor *targets; /* as the dataset gave them, before any algorithm */
    uint32_t ntargets;
    uint32_t reserved;
    double loss; /* mean loss of the batch */
    int64_t samples;
} tutti_metric_input;

typedef struct tutti_metric_v1 {
    uint32_t struct_size;
    uint32_t nsums;
    double *sums; /* what is gathered: sums that ranks may add up and checkpoints keep */
    const char *name;
    /* Forgets everything gathered.  [step] */
    void (*reset)(void *self);
    /* Adds a batch to the sums.  Errors say which shape or dtype was expected.  [step] */
    tutti_status (*update)(void *self, const tutti_metric_input *in, tutti_error *err);
    /* The number from the sums; NaN when nothing was gathered.  [step] */
    double (*compute)(void *self);
} tutti_metric_v1;

TUTTI_C_END
#endif
