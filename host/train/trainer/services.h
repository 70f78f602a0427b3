/* services.h - what plugins can ask of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_SERVICES_H
#define HOST_TRAIN_TRAINER_SERVICES_H

#include "plugin/registry.h"
#include "train/ranks/ranks_service.h"
#include "train/update/weights_service.h"
#include "tutti/activations.h"
#include "tutti/checkpoint.h"
#include "tutti/export.h"
#include "tutti/metrics.h"
#include "tutti/plan.h"
#include "tutti/state.h"
#include "tutti/train.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* What plugins can ask for. */
typedef struct trainer_services {
    tutti_state_v1 state;
    tutti_metrics_v1 metrics;
    weights_service weights;
    tutti_train_v1 train;
    tutti_activations_v1 activations;
    tutti_plan_v1 plan;
    tutti_checkpoint_v1 checkpoint;
    tutti_export_v1 exporting;
    ranks_service ranks;
} trainer_services;

/* All of them; the trainer's members are in place. */
void trainer_services_init(trainer *t);
/* Answers a plugin's host->query.  ctx is the trainer; `i` NULL: a function of the run file. */
const void *trainer_service(void *ctx, instance *i, const char *interface_id);

#endif
