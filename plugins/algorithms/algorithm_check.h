/* algorithm_check.h - a run in miniature, for the tests of algorithms. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALGORITHM_CHECK_H
#define ALGORITHM_CHECK_H

#include "plugin_check.h"

#include "kernel_check.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/train.h"
#include "tutti/weights.h"
#include "view_check.h"

#include <stdio.h>

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
    double memory[RUN_COLUMNS + 1][RUN_NUMBERS]; /* where columns that are set lie */
    double renewed[RUN_COLUMNS + 1][2][RUN_NUMBERS];
    uint64_t turn[RUN_COLUMNS + 1];
    tutti_weight weights[RUN_WEIGHTS];
    uint32_t nweights;
    uint32_t reserved;
    uint64_t version;
    double lr;           /* of the only group */
    const float *losses; /* what sample_losses answers */
    tutti_tensor asked;  /* its input */
    float asked_data[RUN_NUMBERS];
    tutti_tensor mixed; /* target of mix_loss */
    int32_t mixed_data[64];
    double mixed_weight;
    int32_t due;           /* the event at which a checkpoint is due */
    int64_t epoch_batches; /* of the training data */
    tutti_named_value logged[RUN_LOGGED];
    uint32_t nlogged;
    char
        told[512]; /* messages as "[level] text", hyperparameters as "name=value", one a line */
    tutti_state_v1 state;
    tutti_weights_v1 weight_table;
    tutti_train_v1 train;
    tutti_checkpoint_v1 checkpoint;
    tutti_metrics_v1 metrics;
    tutti_log_v1 log;
    view_check view;
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
    if (k < 0 || tutti_nbytes(&t->desc) > sizeof r->memory[0])
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no room for %s", name);
    memmove(r->memory[k], t->data, tutti_nbytes(&t->desc));
    r->columns[k] = *t;
    r->columns[k].data = r->memory[k];
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
    if (k < 0 || tutti_nbytes(desc) > sizeof r->renewed[0][0])
        return tutti_fail(err, TUTTI_E_NOTFOUND, "no room for %s", name);
    double *memory = r->renewed[k][++r->turn[k] & 1];
    memset(memory, 0x5a, sizeof r->renewed[0][0]);
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

static inline tutti_status run_sample_losses(void *ctx, const tutti_tensor *inputs,
                                             uint32_t ninputs, const tutti_tensor *targets,
                                             uint32_t ntargets, float *losses, tutti_error *err)
{
    run *r = ctx;
    (void)targets, (void)err;
    ck_assert_uint_eq(ninputs, 1);
    ck_assert_uint_eq(ntargets, 1);
    ck_assert_uint_le(tutti_nbytes(&inputs[0].desc), sizeof r->asked_data);
    r->asked = inputs[0];
    memcpy(r->asked_data, inputs[0].data, tutti_nbytes(&inputs[0].desc));
    memcpy(losses, r->losses, (size_t)inputs[0].desc.dim[0] * sizeof *losses);
    return TUTTI_OK;
}

static inline tutti_status run_mix_loss(void *ctx, const tutti_tensor *target, double weight,
                                        tutti_error *err)
{
    run *r = ctx;
    (void)err;
    ck_assert_uint_le(tutti_nbytes(&target->desc), sizeof r->mixed_data);
    r->mixed = *target;
    memcpy(r->mixed_data, target->data, tutti_nbytes(&target->desc));
    r->mixed_weight = weight;
    return TUTTI_OK;
}

static inline int32_t run_due(void *ctx, int32_t event)
{
    return ((run *)ctx)->due == event;
}

static inline int64_t run_dataloader_len(void *ctx)
{
    return ((run *)ctx)->epoch_batches;
}

/* Names are the plugin's own texts: they stay until it closes. */
static inline void run_log(void *ctx, const tutti_named_value *values, uint32_t n)
{
    run *r = ctx;
    for (uint32_t k = 0; k < n; k++) {
        ck_assert_uint_lt(r->nlogged, RUN_LOGGED);
        r->logged[r->nlogged++] = values[k];
    }
}

static inline void run_hyperparameter(void *ctx, const char *name, const char *json)
{
    run *r = ctx;
    const size_t used = strlen(r->told);
    (void)snprintf(r->told + used, sizeof r->told - used, "%s=%s\n", name, json);
}

static inline void run_tell(void *ctx, int32_t level, const char *text)
{
    run *r = ctx;
    const size_t used = strlen(r->told);
    (void)snprintf(r->told + used, sizeof r->told - used, "[%d] %s\n", level, text);
}

static inline void run_init(run *r)
{
    memset(r, 0, sizeof *r);
    r->time.struct_size = sizeof r->time;
    r->seed = 17;
    r->due = -1;
    r->state.struct_size = sizeof r->state;
    r->state.ctx = r->weight_table.ctx = r->train.ctx = r->checkpoint.ctx = r;
    r->metrics.ctx = r->log.ctx = r;
    r->state.time = r->state.eval_time = &r->time;
    r->state.max_duration = &r->max_duration;
    r->state.seed = &r->seed;
    r->state.elapsed = run_elapsed;
    r->state.dataloader_len = run_dataloader_len;
    r->state.get = run_get;
    r->state.set = run_set;
    r->state.microbatch = &r->microbatch;
    r->weight_table.struct_size = sizeof r->weight_table;
    r->weight_table.count = run_weight_count;
    r->weight_table.at = run_weight_at;
    r->weight_table.describe = run_weight_describe;
    r->weight_table.version = run_version;
    r->weight_table.groups = run_groups;
    r->weight_table.lr = run_lr;
    r->weight_table.set_lr = run_set_lr;
    r->train.struct_size = sizeof r->train;
    r->train.sample_losses = run_sample_losses;
    r->train.mix_loss = run_mix_loss;
    r->checkpoint.struct_size = sizeof r->checkpoint;
    r->checkpoint.due = run_due;
    r->services[0] = (service){TUTTI_STATE_V1, &r->state};
    r->services[1] = (service){TUTTI_WEIGHTS_V1, &r->weight_table};
    r->services[2] = (service){TUTTI_TRAIN_V1, &r->train};
    r->services[3] = (service){TUTTI_CHECKPOINT_V1, &r->checkpoint};
    r->metrics.struct_size = sizeof r->metrics;
    r->metrics.log = run_log;
    r->metrics.hyperparameter = run_hyperparameter;
    r->services[4] = (service){TUTTI_METRICS_V1, &r->metrics};
    r->log.struct_size = sizeof r->log;
    r->log.write = run_tell;
    r->services[5] = (service){TUTTI_LOG_V1, &r->log};
    view_check_init(&r->view, &r->state, &r->weight_table);
    r->view.table.renew = run_renew;
    r->services[6] = (service){TUTTI_DEVICE_VIEW_V1, &r->view.table};
}

/* One service more. */
static inline void run_service(run *r, const char *id, const void *table)
{
    uint32_t k = 0;
    while (r->services[k].id)
        k++;
    ck_assert_uint_lt(k + 1, sizeof r->services / sizeof *r->services);
    r->services[k] = (service){id, table};
}

/* The kernels of the plugin under test. */
#define run_kernels(r)                                                                         \
    run_service((r), TUTTI_KERNEL_V1,                                                          \
                kernel_check_open(PLUGIN_PATH, PLUGIN_FOLDER "/plugin.json"))

static inline tutti_desc shape_of(int32_t dtype, int32_t rank, const int64_t *dim)
{
    tutti_desc d = {{0}, rank, dtype};
    for (int32_t k = 0; k < rank; k++)
        d.dim[k] = dim[k];
    return d;
}
/* shape(TUTTI_F32, 2, 3) */
#define shape(dtype, ...)                                                                      \
    shape_of((dtype), (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),     \
             (const int64_t[]){__VA_ARGS__})

static inline void run_column(run *r, const char *name, tutti_desc desc, void *data)
{
    const uint32_t k = strcmp(name, "outputs") == 0 ? RUN_COLUMNS : r->ncolumns++;
    r->names[k] = name;
    r->columns[k] = (tutti_tensor){data, desc, TUTTI_DEVICE_CPU, 0};
}

static inline void run_weight(run *r, const char *path, tutti_desc desc, float *data,
                              float *grad)
{
    r->weights[r->nweights++] = (tutti_weight){sizeof(tutti_weight),
                                               grad ? 1u : 0u,
                                               path,
                                               {data, desc, TUTTI_DEVICE_CPU, 0},
                                               grad,
                                               0,
                                               0};
}

/* One event as the engine runs it: match, then apply.  Returns what match said. */
static inline int32_t run_event(run *r, subject *s, int32_t event, tutti_error *err)
{
    static const char *const names[] = {
#define TUTTI_X(name, value, canonical, side) value,
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    const tutti_event e = {sizeof e, event,   names[event], (uint64_t)r->time.batch,
                           &r->time, &r->time};
    int64_t exit_code = TUTTI_EXIT_NONE;
    const int32_t matched = s->calls->match(s->self, &e);
    ck_assert_int_eq(s->calls->match(s->self, &e), matched); /* match changes nothing */
    if (matched == 1)
        (void)s->calls->apply(s->self, &e, &exit_code, err);
    return matched;
}

#endif
