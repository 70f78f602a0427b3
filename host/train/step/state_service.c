/* state_service.c - tutti.state/1 and tutti.metrics/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/log_media.h"
#include "train/step/step_services.h"
#include "train/step/trainer_state.h"

#include <string.h>

/* ---- state ---- */

static double state_elapsed(void *ctx)
{
    const trainer *t = ctx;
    return duration_elapsed(&t->run.clock.now, t->run.clock.max_duration);
}

static int64_t state_dataloader_len(void *ctx)
{
    const trainer *t = ctx;
    for (size_t k = 0; t->run.stage.evaluation && k < t->nevals; k++)
        if (strcmp(t->evals[k].spec->label, t->run.stage.evaluation) == 0)
            return loader_batches(t->evals[k].loader);
    return t->run.clock.batches_per_epoch;
}

static const char *state_eval_label(void *ctx)
{
    return ((trainer *)ctx)->run.stage.evaluation;
}

static int32_t state_eval_cut(void *ctx)
{
    return ((trainer *)ctx)->run.stage.cut;
}

static tutti_status state_get(void *ctx, const char *name, tutti_tensor *ret, tutti_error *err)
{
    trainer *t = ctx;
    slot *s = NULL;
    tutti_status status = tensors_find(&t->tensors, name, &s, err);
    if (status)
        return status;
    tutti_tensor seen = s->now;
    status = mirror_open(&t->mirrors, &s->mirror, MIRROR_RESULTS, &seen, err);
    if (!status)
        *ret = seen;
    return status;
}

static tutti_status state_set(void *ctx, const char *name, const tutti_tensor *tensor,
                              tutti_error *err)
{
    trainer *t = ctx;
    slot *s = NULL;
    tutti_status status = tensors_find(&t->tensors, name, &s, err);
    if (status)
        return status;
    if (tensors_is_result(&t->tensors, s)) { /* these stay where the plan reads them */
        if (!tutti_same_shape(&s->now.desc, &tensor->desc) ||
            s->now.desc.dtype != tensor->desc.dtype)
            return tutti_fail(err, TUTTI_E_SHAPE, "%s keeps its shape and dtype", name);
        tutti_tensor seen = s->now;
        status = mirror_open(&t->mirrors, &s->mirror, MIRROR_RESULTS, &seen, err);
        if (!status)
            memmove(seen.data, tensor->data, tutti_nbytes(&tensor->desc));
        return status;
    }
    tutti_error cause = TUTTI_ERROR_INIT;
    if (tutti_desc_check(&tensor->desc, 0, &cause))
        return tutti_fail(err, cause.status, "%s: %s", name, cause.text);
    status = slot_set(s, context_device(&t->run), tensor, err);
    if (status == TUTTI_OK)
        tensors_batch(&t->tensors)->samples =
            tensors_batch(&t->tensors)->columns[0].now.desc.dim[0];
    return status;
}

static void state_stop(void *ctx, const char *reason)
{
    trainer *t = ctx;
    clock_stop(&t->run.clock);
    run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", reason);
}

static const tutti_timestamp *state_previous(void *ctx)
{
    const trainer *t = ctx;
    return t->run.clock.has_previous ? &t->run.clock.previous : NULL;
}

static const char *state_dataloader_label(void *ctx)
{
    const trainer *t = ctx;
    return t->run.stage.evaluation ? t->run.stage.evaluation : "train";
}

static int64_t state_microbatch_size(void *ctx)
{
    return ((trainer *)ctx)->tensors.microbatch_size;
}

static const char *state_run_name(void *ctx)
{
    return ((trainer *)ctx)->run.file->name;
}

static const char *state_precision(void *ctx)
{
    return ((trainer *)ctx)->run.file->numerics.precision;
}

static const char *state_device(void *ctx)
{
    return ((trainer *)ctx)->run.file->device.part.name;
}

/* ---- metrics ---- */

static void metrics_log(void *ctx, const tutti_named_value *values, uint32_t n)
{
    run_log_metrics(&((trainer *)ctx)->run.log, values, n);
}

static tutti_status metrics_get(void *ctx, const char *name, double *ret, tutti_error *err)
{
    trainer *t = ctx;
    const tutti_status s = async_flush(&t->async, err); /* who asks wants the latest */
    const double *value = s ? NULL : run_log_value(&t->run.log, name);
    if (value)
        *ret = *value;
    return s || value
               ? s
               : tutti_fail(err, TUTTI_E_NOTFOUND, "nothing has been logged as %s", name);
}

static const char *metrics_name_at(void *ctx, uint32_t k)
{
    const trainer *t = ctx;
    return k < t->run.log.nvalues ? t->run.log.values[k].name : NULL;
}

static void metrics_hyperparameter(void *ctx, const char *name, const char *json)
{
    run_log_hyperparameter(&((trainer *)ctx)->run.log, name, json);
}

static tutti_status metrics_log_table(void *ctx, const tutti_table *table, tutti_error *err)
{
    return run_log_table(&((trainer *)ctx)->run.log, table, err);
}

static tutti_status metrics_log_images(void *ctx, const tutti_images *images, tutti_error *err)
{
    return run_log_images(&((trainer *)ctx)->run.log, images, err);
}

void state_service_init(tutti_state_v1 *state, tutti_metrics_v1 *metrics, trainer *t)
{
    *state = (tutti_state_v1){.struct_size = sizeof *state,
                              .ctx = t,
                              .time = &t->run.clock.now,
                              .eval_time = &t->run.clock.eval,
                              .max_duration = &t->run.clock.max_duration,
                              .seed = &t->run.seed,
                              .elapsed = state_elapsed,
                              .dataloader_len = state_dataloader_len,
                              .eval_label = state_eval_label,
                              .eval_cut = state_eval_cut,
                              .get = state_get,
                              .set = state_set,
                              .stop_training = state_stop,
                              .microbatch = &t->tensors.microbatch,
                              .predict_time = &t->run.clock.predict,
                              .iteration_length = &t->run.file->length.iteration_length,
                              .previous = state_previous,
                              .dataloader_label = state_dataloader_label,
                              .microbatch_size = state_microbatch_size,
                              .run_name = state_run_name,
                              .precision = state_precision,
                              .device = state_device};
    *metrics = (tutti_metrics_v1){.struct_size = sizeof *metrics,
                                  .ctx = t,
                                  .log = metrics_log,
                                  .get = metrics_get,
                                  .name_at = metrics_name_at,
                                  .hyperparameter = metrics_hyperparameter,
                                  .log_table = metrics_log_table,
                                  .log_images = metrics_log_images};
}
