/* supervised_internal.h - a supervised loop, for its sources. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_LOOP_SUPERVISED_INTERNAL_H
#define HOST_LOOP_SUPERVISED_INTERNAL_H

#include "tutti_host/supervised.h"

#include <stdbool.h>

/* A tensor and its memory, which grows with it. */
typedef struct moved {
    tutti_tensor tensor;
    uint64_t capacity;
} moved;

/* A metric as its handlers get it. */
typedef struct attached {
    tutti_supervised *owner;
    tutti_supervised_metric metric;
} attached;

struct tutti_supervised {
    tutti_supervised_model model;
    tutti_supervised_options options;
    tutti_loop *loop;
    bool scales;  /* a loss scale is in force */
    bool dynamic; /* it adapts */
    double scale;
    int64_t good; /* updates since it changed */
    double loss;  /* the default outputs */
    void *pair[2];
    moved on_device[TUTTI_SUPERVISED_SLOTS];
    moved on_host[2]; /* what metrics read */
    attached *metrics;
};

/* The batch's two tensors, in slots 0 and 1. */
TUTTI_NODISCARD tutti_status supervised_move_pair(tutti_supervised *s, void *const *batch,
                                                  void **ret_x, void **ret_y, tutti_error *err);
/* The end of a step: gathered work goes off; a device that gathers none is waited for. */
TUTTI_NODISCARD tutti_status supervised_step_device(tutti_supervised *s, tutti_error *err);
TUTTI_NODISCARD tutti_status supervised_attach_metrics(tutti_supervised *s, tutti_error *err);
void supervised_free_buffers(tutti_supervised *s);

#endif
