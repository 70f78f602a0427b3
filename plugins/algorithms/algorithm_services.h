/* algorithm_services.h - for tests: the services of a run in miniature. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALGORITHM_SERVICES_H
#define ALGORITHM_SERVICES_H

#include "algorithm_run.h"

#include <stdio.h>

static inline tutti_status run_sample_losses(void *ctx, const tutti_tensor *inputs,
                                             uint32_t ninputs, const tutti_tensor *targets,
                                             uint32_t ntargets, float *losses, tutti_error *err)
{
    run *r = ctx;
    (void)targets, (void)err;
    ck_assert_uint_eq(ninputs, 1);
    ck_assert_uint_eq(ntargets, 1);
    ck_assert_uint_le(tutti_nbytes(&inputs[0].desc), sizeof r->asked.data);
    r->asked.input = inputs[0];
    memcpy(r->asked.data, inputs[0].data, tutti_nbytes(&inputs[0].desc));
    memcpy(losses, r->losses, (size_t)inputs[0].desc.dim[0] * sizeof *losses);
    return TUTTI_OK;
}

static inline tutti_status run_mix_loss(void *ctx, const tutti_tensor *target, double weight,
                                        tutti_error *err)
{
    run *r = ctx;
    (void)err;
    ck_assert_uint_le(tutti_nbytes(&target->desc), sizeof r->mixed.data);
    r->mixed.target = *target;
    memcpy(r->mixed.data, target->data, tutti_nbytes(&target->desc));
    r->mixed.weight = weight;
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
    r->tables.state.struct_size = sizeof r->tables.state;
    r->tables.state.ctx = r->tables.weights.ctx = r->tables.train.ctx =
        r->tables.checkpoint.ctx = r;
    r->tables.metrics.ctx = r->tables.log.ctx = r;
    r->tables.state.time = r->tables.state.eval_time = &r->time;
    r->tables.state.max_duration = &r->max_duration;
    r->tables.state.seed = &r->seed;
    r->tables.state.elapsed = run_elapsed;
    r->tables.state.dataloader_len = run_dataloader_len;
    r->tables.state.get = run_get;
    r->tables.state.set = run_set;
    r->tables.state.microbatch = &r->microbatch;
    r->tables.weights.struct_size = sizeof r->tables.weights;
    r->tables.weights.count = run_weight_count;
    r->tables.weights.at = run_weight_at;
    r->tables.weights.describe = run_weight_describe;
    r->tables.weights.version = run_version;
    r->tables.weights.groups = run_groups;
    r->tables.weights.lr = run_lr;
    r->tables.weights.set_lr = run_set_lr;
    r->tables.train.struct_size = sizeof r->tables.train;
    r->tables.train.sample_losses = run_sample_losses;
    r->tables.train.mix_loss = run_mix_loss;
    r->tables.checkpoint.struct_size = sizeof r->tables.checkpoint;
    r->tables.checkpoint.due = run_due;
    r->services[0] = (service){TUTTI_STATE_V1, &r->tables.state};
    r->services[1] = (service){TUTTI_WEIGHTS_V1, &r->tables.weights};
    r->services[2] = (service){TUTTI_TRAIN_V1, &r->tables.train};
    r->services[3] = (service){TUTTI_CHECKPOINT_V1, &r->tables.checkpoint};
    r->tables.metrics.struct_size = sizeof r->tables.metrics;
    r->tables.metrics.log = run_log;
    r->tables.metrics.hyperparameter = run_hyperparameter;
    r->services[4] = (service){TUTTI_METRICS_V1, &r->tables.metrics};
    r->tables.log.struct_size = sizeof r->tables.log;
    r->tables.log.write = run_tell;
    r->services[5] = (service){TUTTI_LOG_V1, &r->tables.log};
    view_check_init(&r->tables.view, &r->tables.state, &r->tables.weights);
    r->tables.view.table.renew = run_renew;
    r->services[6] = (service){TUTTI_DEVICE_VIEW_V1, &r->tables.view.table};
}

#endif
