/* async_metrics.h - losses and metrics of steps that the device has not done yet: read when it has. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_ASYNC_METRICS_H
#define HOST_TRAIN_STEP_ASYNC_METRICS_H

#include "train/context/step_tensors.h"
#include "train/data/metric_set.h"
#include "train/update/loss_scaler.h"
#include "train/update/numeric_guard.h"

/* Steps that the host may be ahead; fewer where each keeps its outputs for metrics. */
enum { ASYNC_STEPS = 4, ASYNC_MEASURED = 2, ASYNC_TENSORS = STEP_OUTPUTS + TUTTI_MAX_COLUMNS };

/* A microbatch, on its way to the host; all memory is pinned. */
typedef struct async_microbatch {
    float *losses;     /* of the step's first evaluation and of its last; pinned */
    double weights[2]; /* in these */
    int64_t samples;
    tutti_tensor tensors[ASYNC_TENSORS]; /* the outputs, then targets */
    uint64_t capacity[ASYNC_TENSORS];
    uint32_t noutputs, ntargets;
} async_microbatch;

typedef struct async_step {
    async_microbatch *parts;
    double *scaler; /* TUTTI_SCALER_NUMBERS behind the update; pinned */
    void *done;     /* event */
    uint64_t batch;
    uint32_t counts[2]; /* of parts: in the first evaluation, in the last */
    uint32_t capacity;
    uint32_t last; /* 1 where there was more than one evaluation, else 0 */
    bool scaled;   /* there is a loss scale on the device */
    bool measured; /* parts have outputs and targets */
} async_step;

typedef struct async_metrics {
    run_context *run;
    step_tensors *tensors;
    metric_set *metrics; /* of the training data */
    numeric_guard *guard;
    loss_scaler *scaler;
    const device_scalars *scalars;
    async_step steps[ASYNC_STEPS];
    uint64_t first, next; /* those from first on are under way, next is being made */
} async_metrics;

/* One step: for each of its evaluations begin, note each microbatch (its targets before any algorithm, its
 * loss, its outputs), then the losses' sum now; or the step's end: all is logged once it is known, as of its
 * batch, the loss of the first evaluation and metrics of the last.  [step] */
TUTTI_NODISCARD tutti_status async_begin(async_metrics *a, uint32_t microbatches, bool first,
                                         bool measured, tutti_error *err);
TUTTI_NODISCARD tutti_status async_targets(async_metrics *a, tutti_error *err);
TUTTI_NODISCARD tutti_status async_loss(async_metrics *a, double weight, tutti_error *err);
TUTTI_NODISCARD tutti_status async_outputs(async_metrics *a, tutti_error *err);
TUTTI_NODISCARD tutti_status async_sum(async_metrics *a, double *ret_loss, tutti_error *err);
TUTTI_NODISCARD tutti_status async_end(async_metrics *a, tutti_error *err);
/* Logs what is known. */
TUTTI_NODISCARD tutti_status async_poll(async_metrics *a, tutti_error *err);
/* Waits, then logs all. */
TUTTI_NODISCARD tutti_status async_flush(async_metrics *a, tutti_error *err);
void async_fini(async_metrics *a);

#endif
