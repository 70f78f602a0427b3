/* step_services.h - the tables of the services that read a step. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_STEP_SERVICES_H
#define HOST_TRAIN_STEP_STEP_SERVICES_H

#include "train/step/trainer_state.h"

/* Fill the tables in t->services; the trainer's other members are in place. */
void state_service_init(trainer *t);
void train_service_init(trainer *t);
void activations_service_init(trainer *t);
void plan_service_init(trainer *t);

#endif
