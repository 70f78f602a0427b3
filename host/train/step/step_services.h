/* step_services.h - the tables of the services that read a step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_STEP_SERVICES_H
#define HOST_TRAIN_STEP_STEP_SERVICES_H

#include "tutti/activations.h"
#include "tutti/metrics.h"
#include "tutti/plan.h"
#include "tutti/state.h"
#include "tutti/train.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Fill the tables; the trainer's members are in place. */
void state_service_init(tutti_state_v1 *state, tutti_metrics_v1 *metrics, trainer *t);
void train_service_init(tutti_train_v1 *s, trainer *t);
void activations_service_init(tutti_activations_v1 *s, trainer *t);
void plan_service_init(tutti_plan_v1 *s, trainer *t);

#endif
