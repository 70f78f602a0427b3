/* services.h - what plugins can ask of a run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_SERVICES_H
#define HOST_TRAIN_TRAINER_SERVICES_H

#include "train/step/trainer_state.h"

/* All of them; the trainer's members are in place. */
void trainer_services_init(trainer *t);
/* Answers a plugin's host->query.  ctx is the trainer; `i` NULL: a function of the run file. */
const void *trainer_service(void *ctx, instance *i, const char *interface_id);

#endif
