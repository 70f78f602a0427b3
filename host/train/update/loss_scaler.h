/* loss_scaler.h - the loss scale of amp_fp16, and the precisions of a run file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_LOSS_SCALER_H
#define HOST_TRAIN_UPDATE_LOSS_SCALER_H

#include "train/update/device_scalars.h"

/* The number of a run file's word: NET_FP32 ... */
int precision_of(const char *name);
/* Says what the run file's precision depends on. */
void precision_announce(run_context *run);

/* Multiplies the loss before the backward pass, and takes that back from the gradients before anything
 * looks at them: GradScaler.  Without it (all precisions but amp_fp16) the scale is 1. */
typedef struct loss_scaler {
    run_context *run;
    host_mirrors *mirrors;
    device_scalars *scalars;
    double scale; /* these two are what a checkpoint keeps */
    double clean; /* updates since the last change */
    bool on;
    bool found; /* the gradients of this batch are not finite, as far as the host knows */
    double
        skipped; /* the last updates in a row that were left out; a checkpoint keeps these three, too */
    double first_skipped; /* the batch of the first of these */
    double told_scale;    /* behind the last of these */
} loss_scaler;

void scaler_init(loss_scaler *s, run_context *run, host_mirrors *mirrors,
                 device_scalars *scalars, int precision);
double scaler_scale(const loss_scaler *s);
/* Once the gradients are complete, before AFTER_TRAIN_BATCH, so that clipping sees true ones.  [step] */
TUTTI_NODISCARD tutti_status scaler_unscale(loss_scaler *s, tutti_error *err);
/* Whether the update is left out; asked between unscale and update. */
bool scaler_skips(const loss_scaler *s);
/* Once a batch, after its update or the lack of it: a larger or a smaller scale.  [step] */
TUTTI_NODISCARD tutti_status scaler_update(loss_scaler *s, tutti_error *err);
/* Counts whether the update of batch `step` was left out, and says so with the scale since. */
void scaler_count(loss_scaler *s, uint64_t step, bool skipped, double scale);
tutti_tensor scaler_state(loss_scaler *s);       /* a view for checkpoints: f64 (2) */
tutti_tensor scaler_skips_state(loss_scaler *s); /* likewise: f64 (3) */

#endif
