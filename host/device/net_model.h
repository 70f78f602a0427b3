/* net_model.h - a model of the graph core as the model of a supervised loop, on its net's device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_NET_MODEL_H
#define HOST_DEVICE_NET_MODEL_H

#include "graph/plan/plan.h"
#include "tutti/optimizer.h"
#include "tutti_host/supervised.h"

typedef struct net_model net_model; /* opaque */

typedef struct net_model_options {
    net *net; /* with one input and one target; borrowed, as is the rest */
    const tutti_optimizer_v1 *optimizer; /* NULL for an evaluator's */
    void *optimizer_self;
    tutti_desc target; /* of one sample: how a training plan is made before targets are seen */
    uint64_t seed;     /* of dropout and the like */
} net_model_options;

/* x and y are const tutti_tensor * that the net's device can reach, as a supervised loop with that
 * device makes them; y_pred is the model's first output.  In f32; amp and apex want a net that was
 * made with their precision, in which it then always computes. */
/* Errors: E_NOMEM; E_UNSUPPORTED for an optimizer of whole weights; E_RANGE for too many slots. */
TUTTI_NODISCARD tutti_status net_model_create(const net_model_options *options,
                                              net_model **ret_model, tutti_error *err);
void net_model_destroy(net_model *m); /* NULL is allowed */
/* What supervised loops take; `m` must outlive them. */
tutti_supervised_model net_model_calls(net_model *m);
/* The learning rate of the updates to come; at first the optimizer's.  [step] */
double net_model_lr(const net_model *m);
void net_model_set_lr(net_model *m, double lr);

#endif
