/* algorithm_run.h - for tests: a run in miniature: what an algorithm can ask for, its state and weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALGORITHM_RUN_H
#define ALGORITHM_RUN_H

#include "plugin_check.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/train.h"
#include "tutti/weights.h"
#include "view_check.h"

enum { RUN_COLUMNS = 4, RUN_WEIGHTS = 8, RUN_NUMBERS = 4096, RUN_LOGGED = 16 };

/* What an algorithm can ask for.  Not copyable: the tables point into it. */
typedef struct run {
    tutti_timestamp time;
    tutti_time max_duration;
    uint64_t seed;
    uint32_t microbatch;
    uint32_t ncolumns;
    double elapsed;
    const char *names[RUN_COLUMNS + 1]; /* "outputs" is the last */
    tutti_tensor columns[RUN_COLUMNS + 1];
    struct { /* where columns lie */
        double set[RUN_COLUMNS + 1][RUN_NUMBERS];
        double renewed[RUN_COLUMNS + 1][2][RUN_NUMBERS];
        uint64_t turn[RUN_COLUMNS + 1];
    } memory;
    tutti_weight weights[RUN_WEIGHTS];
    uint32_t nweights;
    uint64_t version;
    double lr;           /* of the only group */
    const float *losses; /* what sample_losses answers */
    struct {             /* what they were asked of */
        tutti_tensor input;
        float data[RUN_NUMBERS];
    } asked;
    struct { /* what mix_loss was told */
        tutti_tensor target;
        int32_t data[64];
        double weight;
    } mixed;
    int32_t due;           /* the event at which a checkpoint is due */
    int64_t epoch_batches; /* of the training data */
    tutti_named_value logged[RUN_LOGGED];
    uint32_t nlogged;
    char
        told[512]; /* messages as "[level] text", hyperparameters as "name=value", one a line */
    struct {
        tutti_state_v1 state;
        tutti_weights_v1 weights;
        tutti_train_v1 train;
        tutti_checkpoint_v1 checkpoint;
        tutti_metrics_v1 metrics;
        tutti_log_v1 log;
        view_check view;
    } tables;
    service services[12];
} run;

static inline double run_elapsed(void *ctx)
{
    return ((run *)ctx)->elapsed;
}

static inline int32_t run_find(const run *r, const char *name)
{
    if (strcmp(name, "outputs") == 0)
        return r->columns[RUN_COLUMNS].data ? RUN_COLUMNS : -1;
    for (uint32_t k = 0; k < r->ncolumns; k++)
        if (strcmp(r->names[k], name) == 0 || (name[0] == (char)('0' + k) && !name[1]))
            return (int32_t)k;
    return -1;
}

static inline tutti_status run_get(void *ctx, const char *name, tutti_tensor *ret,
                                   tutti_error *err)
{
    const run *r = ctx;
    const int32_t k = run_find(r, name);
    if (k < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "the state has no %s", name);
    *ret = r->columns[k];
    return TUTTI_OK;
}

static inline tutti_status run_set(void *ctx, const char *name, const tutti_tensor *t,
                                   tutti_error *err)
{
    run *r = ctx;
    const int32_t k = run_find(r, name);
    if (k < 0 || tutti_nbytes(&t->desc) > sizeof r->memory.set[0])
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no room for %s", name);
    memmove(r->memory.set[k], t->data, tutti_nbytes(&t->desc));
    r->columns[k] = *t;
    r->columns[k].data = r->memory.set[k];
    return TUTTI_OK;
}

static inline uint32_t run_weight_count(void *ctx)
{
    return ((run *)ctx)->nweights;
}

static inline tutti_status run_weight_at(void *ctx, uint32_t k, tutti_weight *ret,
                                         tutti_error *err)
{
    (void)err;
    *ret = ((run *)ctx)->weights[k];
    return TUTTI_OK;
}

static inline tutti_status run_weight_describe(void *ctx, uint32_t k, tutti_weight *ret,
                                               tutti_error *err)
{
    const tutti_status s = run_weight_at(ctx, k, ret, err);
    ret->data.data = ret->grad = NULL;
    return s;
}

static inline uint64_t run_version(void *ctx)
{
    return ((run *)ctx)->version;
}

static inline tutti_status run_renew(void *ctx, const char *name, const tutti_desc *desc,
                                     tutti_tensor *ret, tutti_error *err)
{
    run *r = ((const view_check *)ctx)->state->ctx;
    const int32_t k = run_find(r, name);
    if (k < 0 || tutti_nbytes(desc) > sizeof r->memory.renewed[0][0])
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no room for %s", name);
    double *memory = r->memory.renewed[k][++r->memory.turn[k] & 1];
    memset(memory, 0x5a, sizeof r->memory.renewed[0][0]);
    r->columns[k] = (tutti_tensor){memory, *desc, TUTTI_DEVICE_CPU, 0};
    *ret = r->columns[k];
    return TUTTI_OK;
}

static inline uint32_t run_groups(void *ctx)
{
    (void)ctx;
    return 1;
}

static inline double run_lr(void *ctx, uint32_t group)
{
    ck_assert_uint_eq(group, 0);
    return ((run *)ctx)->lr;
}

static inline void run_set_lr(void *ctx, uint32_t group, double lr)
{
    ck_assert_uint_eq(group, 0);
    ((run *)ctx)->lr = lr;
}

#endif
