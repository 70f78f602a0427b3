/* run_state_check.h - a made-up run for tests: what it has, and its state as callbacks see it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_STATE_CHECK_H
#define RUN_STATE_CHECK_H

#include "plugin_check.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/logger.h"
#include "tutti/metrics.h"
#include "tutti/optimizer.h"
#include "tutti/state.h"
#include "tutti/weights.h"
#include "view_check.h"

#include <stdio.h>

enum { STAGE_VALUES = 64, STAGE_WEIGHTS = 4, STAGE_TENSORS = 4 };

/* Not copyable: its services point into it. */
typedef struct stage {
    tutti_timestamp time;
    tutti_timestamp eval_time;
    tutti_time max;
    uint64_t seed;
    uint32_t microbatch;
    uint32_t nvalues;
    int64_t len;       /* batches in an epoch */
    const char *label; /* of the evaluation under way */
    int32_t cut;       /* it is */
    struct {
        int32_t follows; /* a process that called `own` with the path */
        char path[600];
    } own;
    float loss;
    struct {
        char name[64];
        double value;
    } values[STAGE_VALUES];
    struct { /* beside "loss" */
        struct {
            const char *name;
            tutti_tensor tensor;
        } list[STAGE_TENSORS];
        uint32_t count;
    } tensors;
    struct { /* by calls of metrics */
        uint32_t nlogs, nhypers, ntables, nimages;
        char hyper[128];  /* the last hyperparameter: "name=json" */
        char table[4096]; /* the last one: its name, its columns, then its rows, a line each */
        /* the last ones: their name, their shape and their numbers, then a line for each mask */
        char images[4096];
    } told;
    double lr[2];
    struct {
        tutti_weight list[STAGE_WEIGHTS];
        uint32_t count;
    } weights;
#if TUTTI_USE_MINOR >= 1
    struct { /* of each weight */
        tutti_slot list[STAGE_WEIGHTS][TUTTI_OPTIMIZER_MAX_SLOTS];
        uint32_t count[STAGE_WEIGHTS];
        int32_t are_divided; /* among processes */
    } slots;
#endif
    char stopped[256]; /* reason of the last stop */
    char noted[1024];  /* the last message */
    int32_t noted_level;
    int32_t saves;
    int32_t save_fails;
    char run_folder[256];
    struct {
        tutti_state_v1 state;
        tutti_metrics_v1 metrics;
        tutti_weights_v1 weights;
        tutti_checkpoint_v1 checkpoint;
        tutti_log_v1 log;
        view_check view;
    } tables;
    service services[10];
} stage;

static inline double stage_elapsed(void *ctx)
{
    const stage *s = (const stage *)ctx;
    return s->max.count
               ? (double)tutti_timestamp_get(&s->time, s->max.unit) / (double)s->max.count
               : -1.0;
}

static inline int64_t stage_len(void *ctx)
{
    return ((const stage *)ctx)->len;
}

static inline const char *stage_label(void *ctx)
{
    return ((const stage *)ctx)->label;
}

static inline const tutti_timestamp *stage_previous(void *ctx)
{
    (void)ctx;
    return NULL;
}

static inline int32_t stage_cut(void *ctx)
{
    return ((const stage *)ctx)->cut;
}

static inline tutti_status stage_get(void *ctx, const char *name, tutti_tensor *ret,
                                     tutti_error *err)
{
    stage *s = (stage *)ctx;
    for (uint32_t k = 0; k < s->tensors.count; k++)
        if (strcmp(name, s->tensors.list[k].name) == 0) {
            *ret = s->tensors.list[k].tensor;
            return TUTTI_OK;
        }
    if (strcmp(name, "loss") != 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "the state has no %s now", name);
    memset(ret, 0, sizeof *ret);
    ret->data = &s->loss;
    ret->desc.dtype = TUTTI_F32;
    ret->device = TUTTI_DEVICE_CPU;
    return TUTTI_OK;
}

/* Tensor `name` of the state from now on: dense, of the caller's memory. */
static inline void stage_tensor(stage *s, const char *name, void *data, tutti_desc desc)
{
    uint32_t k = 0;
    while (k < s->tensors.count && strcmp(name, s->tensors.list[k].name) != 0)
        k++;
    ck_assert_uint_lt(k, STAGE_TENSORS);
    s->tensors.count += k == s->tensors.count;
    s->tensors.list[k].name = name;
    s->tensors.list[k].tensor = (tutti_tensor){data, desc, TUTTI_DEVICE_CPU, 0};
}

static inline tutti_status stage_set(void *ctx, const char *name, const tutti_tensor *t,
                                     tutti_error *err)
{
    (void)ctx;
    (void)t;
    return tutti_fail(err, TUTTI_E_STATE, "%s cannot be set here", name);
}

static inline void stage_stop(void *ctx, const char *reason)
{
    stage *s = (stage *)ctx;
    (void)snprintf(s->stopped, sizeof s->stopped, "%s", reason);
}

#endif
