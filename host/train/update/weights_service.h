/* weights_service.h - tutti.weights/1: parameters, gradients and learning rates for plugins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_WEIGHTS_SERVICE_H
#define HOST_TRAIN_UPDATE_WEIGHTS_SERVICE_H

#include "train/update/updater.h"

typedef struct weights_service {
    tutti_weights_v1 table;
    updater *updater;
} weights_service;

void weights_service_init(weights_service *w, updater *u);
/* Weight k where it is, with its group.  Errors: E_RANGE. */
TUTTI_NODISCARD tutti_status weights_find(const updater *u, uint32_t k,
                                          tutti_weight *ret_weight, tutti_error *err);
/* Before weights are given out: those that are blank get their first values.  Whoever wants gradients of a batch must
 * have asked before: E_STATE where they are sharded. */
TUTTI_NODISCARD tutti_status weights_show(const updater *u, tutti_error *err);
/* Slot `slot` of weight k where it is.  Errors: E_RANGE; E_UNSUPPORTED it is sharded. */
TUTTI_NODISCARD tutti_status weights_find_slot(const updater *u, uint32_t k, uint32_t slot,
                                               tutti_slot *ret_slot, tutti_error *err);

#endif
