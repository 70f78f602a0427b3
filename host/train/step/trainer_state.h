/* trainer_state.h - a trainer: the components of a run, each with its own header. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_TRAINER_STATE_H
#define HOST_TRAIN_STEP_TRAINER_STATE_H

#include "base/folder_lock.h"
#include "train/context/observers.h"
#include "train/data/data_source.h"
#include "train/ranks/distributed.h"
#include "train/step/async_metrics.h"
#include "train/step/loop_hooks.h"
#include "train/step/plan_step.h"
#include "train/step/write_behind.h"
#include "train/update/plugin_kernels.h"

typedef struct trainer {
    run_context run;
    loop_hooks hooks;
    step_tensors tensors;
    host_mirrors mirrors;
    uploads uploads;
    plugin_kernels kernels;
    device_scalars scalars;
    loss_scaler scaler;
    updater updater;
    numeric_guard guard;
    async_metrics async;
    distributed distributed;
    data_source train;
    data_source *evals;
    size_t nevals;
    step_plans plans;
    observers observers;
    folder_lock *locks;  /* on the folders that it writes to */
    write_behind behind; /* writes a checkpoint */

    /* Components of folders behind this one, each with its header there; they live as long as the trainer. */
    struct trainer_resume *resume;         /* checkpoint/resume.h */
    struct run_record *record;             /* record/record.h */
    struct own_files *own;                 /* record/own_files.h */
    struct trainer_evaluation *evaluation; /* trainer/evaluate.h */
    struct trainer_services *services;     /* trainer/services.h */
} trainer;

#endif
