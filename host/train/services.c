/* services.c - what plugins can ask of a run: state, metrics, weights, train, checkpoint, log. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "train/trainer_internal.h"
#include "tutti/kernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- state ---- */

static double state_elapsed(void *ctx)
{
    const trainer *t = ctx;
    return duration_elapsed(&t->time, t->max_duration);
}

static int64_t state_dataloader_len(void *ctx)
{
    const trainer *t = ctx;
    for (size_t k = 0; t->eval_label && k < t->nevals; k++)
        if (strcmp(t->evals[k].spec->label, t->eval_label) == 0)
            return loader_batches(t->evals[k].loader);
    return t->train.loader ? loader_batches(t->train.loader) : -1;
}

static const char *state_eval_label(void *ctx)
{
    return ((trainer *)ctx)->eval_label;
}

static tutti_status state_get(void *ctx, const char *name, tutti_tensor *ret, tutti_error *err)
{
    trainer *t = ctx;
    slot *s = trainer_slot(t, name, err);
    if (!s)
        return TUTTI_E_NOTFOUND;
    tutti_tensor seen = s->now;
    const tutti_status status = view_open(t, &s->view, VIEW_RESULTS, &seen, err);
    if (!status)
        *ret = seen;
    return status;
}

static tutti_status state_set(void *ctx, const char *name, const tutti_tensor *tensor,
                              tutti_error *err)
{
    trainer *t = ctx;
    slot *s = trainer_slot(t, name, err);
    if (!s)
        return TUTTI_E_NOTFOUND;
    if (trainer_computes(t, s)) { /* these stay where the plan reads them */
        if (!tutti_same_shape(&s->now.desc, &tensor->desc) ||
            s->now.desc.dtype != tensor->desc.dtype)
            return tutti_fail(err, TUTTI_E_SHAPE, "%s keeps its shape and dtype", name);
        tutti_tensor seen = s->now;
        const tutti_status status = view_open(t, &s->view, VIEW_RESULTS, &seen, err);
        if (!status)
            memmove(seen.data, tensor->data, tutti_nbytes(&tensor->desc));
        return status;
    }
    const tutti_status status = slot_set(s, trainer_device(t), tensor, err);
    if (status == TUTTI_OK)
        trainer_batch(t)->samples = trainer_batch(t)->columns[0].now.desc.dim[0];
    return status;
}

static void state_stop(void *ctx, const char *reason)
{
    trainer *t = ctx;
    /* As upstream: the duration becomes what has passed, so that everything due at the end is due. */
    const int32_t unit =
        t->planned.unit == TUTTI_UNIT_EPOCH ? TUTTI_UNIT_BATCH : t->planned.unit;
    t->max_duration = (tutti_time){tutti_timestamp_get(&t->time, unit), 0.0, unit, 0};
    t->stopped = true;
    trainer_message(t, TUTTI_LOG_INFO, "train", reason);
}

static const tutti_timestamp *state_previous(void *ctx)
{
    const trainer *t = ctx;
    return t->has_previous ? &t->previous : NULL;
}

static const char *state_dataloader_label(void *ctx)
{
    const trainer *t = ctx;
    return t->eval_label ? t->eval_label : "train";
}

static int64_t state_microbatch_size(void *ctx)
{
    return ((trainer *)ctx)->microbatch_size;
}

static const char *state_run_name(void *ctx)
{
    return ((trainer *)ctx)->run->name;
}

static const char *state_precision(void *ctx)
{
    return ((trainer *)ctx)->run->precision;
}

static const char *state_device(void *ctx)
{
    return ((trainer *)ctx)->run->device.part.name;
}

/* ---- metrics ---- */

static void metrics_log(void *ctx, const tutti_named_value *values, uint32_t n)
{
    trainer_log(ctx, values, n);
}

static tutti_status metrics_get(void *ctx, const char *name, double *ret, tutti_error *err)
{
    trainer *t = ctx;
    const tutti_status s = late_flush(t, err); /* who asks wants the latest */
    for (uint32_t k = 0; k < t->values.count && !s; k++)
        if (strcmp(t->values.items[k].name, name) == 0) {
            *ret = t->values.items[k].value;
            return TUTTI_OK;
        }
    return s ? s : tutti_fail(err, TUTTI_E_NOTFOUND, "nothing has been logged as %s", name);
}

static const char *metrics_name_at(void *ctx, uint32_t k)
{
    const trainer *t = ctx;
    return k < t->values.count ? t->values.items[k].name : NULL;
}

static void metrics_hyperparameter(void *ctx, const char *name, const char *json)
{
    trainer_hyperparameter(ctx, name, json);
}

/* ---- weights ---- */

static uint32_t weights_count(void *ctx)
{
    return net_weight_count(((trainer *)ctx)->net);
}

tutti_status trainer_weight(trainer *t, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    if (k >= net_weight_count(t->net))
        return tutti_fail(err, TUTTI_E_RANGE, "there are %u weights, %u is past the last",
                          net_weight_count(t->net), k);
    *ret = *net_weight(t->net, k);
    ret->group = t->update.group_of && t->update.version == net_version(t->net)
                     ? t->update.group_of[k]
                     : -1;
    return TUTTI_OK;
}

static tutti_status weights_at(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const tutti_status s = trainer_weight(ctx, k, ret, err);
    return s ? s : views_weight(ctx, k, ret, err);
}

static tutti_status weights_describe(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const tutti_status s = trainer_weight(ctx, k, ret, err);
    if (!s)
        ret->data.data = ret->grad = NULL;
    return s;
}

static uint64_t weights_version(void *ctx)
{
    return net_version(((trainer *)ctx)->net);
}

static uint32_t weights_groups(void *ctx)
{
    return (uint32_t)((trainer *)ctx)->update.ngroups;
}

static const char *weights_optimizer(void *ctx)
{
    const trainer *t = ctx;
    return t->update.ngroups
               ? object_describe(instance_object(t->update.groups[0].optimizer))->name
               : "";
}

static double weights_lr(void *ctx, uint32_t k)
{
    const trainer *t = ctx;
    return k < t->update.ngroups ? t->update.groups[k].lr : 0.0;
}

static void weights_set_lr(void *ctx, uint32_t k, double lr)
{
    trainer *t = ctx;
    if (k < t->update.ngroups)
        t->update.groups[k].lr = lr;
}

static float *weights_gradient_factor(void *ctx)
{
    return scalars_ask_factor(ctx);
}

/* ---- train ---- */

/* Copies a plugin's tensor to where a plan reads it. */
static tutti_status take_column(trainer *t, tutti_tensor to, const tutti_tensor *from,
                                tutti_error *err)
{
    if (!to.data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a column of a forward pass");
    return place_copy(trainer_device(t), to.data, from->data, tutti_nbytes(&from->desc),
                      from->device == to.device ? TUTTI_COPY_ON_DEVICE : TUTTI_COPY_TO_DEVICE,
                      err);
}

static tutti_status train_losses_there(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                       const tutti_tensor *targets, uint32_t ntargets,
                                       tutti_tensor *ret_losses, tutti_error *err)
{
    trainer *t = ctx;
    if (t->phase != PHASE_BATCH)
        return tutti_fail(err, TUTTI_E_STATE,
                          "sample losses can be had between after_dataloader and "
                          "before_train_batch only");
    plan_request request = {.kind = PLAN_LOSSES, .ninputs = ninputs, .ntargets = ntargets};
    if (ninputs > TUTTI_MAX_COLUMNS || ntargets > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_RANGE, "at most %d columns", TUTTI_MAX_COLUMNS);
    for (uint32_t k = 0; k < ninputs; k++)
        request.inputs[k] = inputs[k].desc;
    for (uint32_t k = 0; k < ntargets; k++)
        request.targets[k] = targets[k].desc;
    plan *p;
    tutti_status s = net_plan(t->net, &request, &p, err);
    if (s)
        return s;
    for (uint32_t k = 0; k < ninputs && !s; k++) {
        plan_set_input(p, k, NULL);
        s = take_column(t, plan_input(p, k), &inputs[k], err);
    }
    for (uint32_t k = 0; k < ntargets && !s; k++) {
        plan_set_target(p, k, NULL);
        s = take_column(t, plan_target(p, k), &targets[k], err);
    }
    if (s || (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)) ||
        (s = trainer_run(t, p, SEGMENT_LOSS, 1.0f, err)))
        return s;
    *ret_losses = plan_loss(p);
    return TUTTI_OK;
}

static tutti_status train_sample_losses(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                        const tutti_tensor *targets, uint32_t ntargets,
                                        float *losses, tutti_error *err)
{
    const trainer *t = ctx;
    tutti_tensor there;
    const tutti_status s =
        train_losses_there(ctx, inputs, ninputs, targets, ntargets, &there, err);
    return s ? s
             : place_copy(trainer_device(t), losses, there.data, tutti_nbytes(&there.desc),
                          TUTTI_COPY_FROM_DEVICE, err);
}

static tutti_status train_mix_loss(void *ctx, const tutti_tensor *target, double weight,
                                   tutti_error *err)
{
    trainer *t = ctx;
    if (t->phase != PHASE_MICROBATCH || !t->loss_plan)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a loss can be mixed between after_loss and before_backward only");
    tutti_status s = views_settle(t, false, err);
    views_age(t, 1u << VIEW_RESULTS);
    if (!s)
        s = plan_mix_loss(t->loss_plan, target, weight, &t->step, t->loss_scale, err);
    if (s == TUTTI_OK)
        trainer_publish(t, t->loss_plan);
    return s;
}

static tutti_status forward_plan(trainer *t, const tutti_tensor *inputs, uint32_t ninputs,
                                 uint32_t noutputs, plan **ret_plan, tutti_error *err)
{
    plan_request request = {.kind = PLAN_EVAL, .ninputs = ninputs};
    uint32_t want = 0;
    while (t->model_table && t->model_table->inputs[want])
        want++;
    if (t->phase != PHASE_IDLE || !t->initialised)
        return tutti_fail(err, TUTTI_E_STATE,
                          "a forward pass can be had where no batch or evaluation is under way "
                          "only, as on batch_checkpoint and epoch_end");
    if (ninputs != want || noutputs > t->model_table->noutputs || noutputs > 16)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the model takes %u inputs and gives %u outputs, not %u and %u", want,
                          t->model_table->noutputs, ninputs, noutputs);
    for (uint32_t k = 0; k < ninputs; k++)
        request.inputs[k] = inputs[k].desc;
    return net_plan(t->net, &request, ret_plan, err);
}

static tutti_status train_forward(void *ctx, const tutti_tensor *inputs, uint32_t ninputs,
                                  tutti_tensor *ret_outputs, uint32_t noutputs,
                                  tutti_error *err)
{
    trainer *t = ctx;
    plan *p;
    tutti_status s = forward_plan(t, inputs, ninputs, noutputs, &p, err);
    if (s)
        return s;
    for (uint32_t k = 0; k < ninputs; k++) {
        plan_set_input(p, k, NULL);
        if ((s = take_column(t, plan_input(p, k), &inputs[k], err)))
            return s;
    }
    if ((s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)))
        return s;
    for (uint32_t k = 0; k < noutputs && !s; k++) {
        ret_outputs[k] = plan_output(p, k);
        s = view_open(t, &t->forward_views[k], VIEW_RESULTS, &ret_outputs[k], err);
    }
    return s;
}

static const void *train_dataset(void *ctx, const char *interface_id, void **ret_self)
{
    const trainer *t = ctx;
    const void *table =
        t->train.dataset ? instance_query(t->train.dataset, interface_id) : NULL;
    if (table)
        *ret_self = instance_self(t->train.dataset);
    return table;
}

/* ---- checkpoint ---- */

static int32_t checkpoint_due(void *ctx, int32_t event)
{
    trainer *t = ctx;
    for (size_t k = 0; k < t->nparticipants; k++) {
        const tutti_saver_v1 *saver = instance_query(t->participants[k], TUTTI_SAVER_V1);
        if (saver && saver->due(instance_self(t->participants[k]), event))
            return 1;
    }
    return 0;
}

static tutti_status checkpoint_save(void *ctx, const char *path, tutti_error *err)
{
    return trainer_save(ctx, path, err);
}

static const char *checkpoint_run_name(void *ctx)
{
    return ((trainer *)ctx)->run->name;
}

static const char *checkpoint_run_folder(void *ctx)
{
    return ((trainer *)ctx)->folder;
}

const tutti_saver_v1 *trainer_saver(trainer *t, void **ret_self)
{
    for (size_t k = 0; k < t->nparticipants; k++) {
        const tutti_saver_v1 *saver = instance_query(t->participants[k], TUTTI_SAVER_V1);
        if (saver) {
            *ret_self = instance_self(t->participants[k]);
            return saver;
        }
    }
    return NULL;
}

/* ---- log ---- */

static void log_write(void *ctx, int32_t level, const char *text)
{
    const log_service *s = ctx;
    trainer_message(s->trainer, level, s->instance ? instance_name(s->instance) : "plugin",
                    text);
}

static const void *log_for(trainer *t, instance *i)
{
    for (log_service *s = t->logs; s; s = s->next)
        if (s->instance == i)
            return &s->table;
    log_service *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->table = (tutti_log_v1){sizeof s->table, 0, s, log_write};
    s->trainer = t;
    s->instance = i;
    s->next = t->logs;
    t->logs = s;
    return &s->table;
}

void trainer_services_init(trainer *t)
{
    t->state_service = (tutti_state_v1){sizeof t->state_service,
                                        0,
                                        t,
                                        &t->time,
                                        &t->eval_time,
                                        &t->max_duration,
                                        &t->seed,
                                        state_elapsed,
                                        state_dataloader_len,
                                        state_eval_label,
                                        state_get,
                                        state_set,
                                        state_stop,
                                        &t->microbatch,
                                        &t->predict_time,
                                        &t->run->iteration_length,
                                        state_previous,
                                        state_dataloader_label,
                                        state_microbatch_size,
                                        state_run_name,
                                        state_precision,
                                        state_device};
    t->metrics_service = (tutti_metrics_v1){
        sizeof t->metrics_service, 0, t, metrics_log, metrics_get, metrics_name_at,
        metrics_hyperparameter};
    t->weights_service = (tutti_weights_v1){sizeof t->weights_service,
                                            0,
                                            t,
                                            weights_count,
                                            weights_at,
                                            weights_version,
                                            weights_groups,
                                            weights_optimizer,
                                            weights_lr,
                                            weights_set_lr,
                                            weights_gradient_factor,
                                            weights_describe};
    t->train_service = (tutti_train_v1){sizeof t->train_service,
                                        0,
                                        t,
                                        train_sample_losses,
                                        train_mix_loss,
                                        train_forward,
                                        train_dataset,
                                        train_losses_there};
    t->checkpoint_service = (tutti_checkpoint_v1){sizeof t->checkpoint_service,
                                                  0,
                                                  t,
                                                  checkpoint_due,
                                                  checkpoint_save,
                                                  checkpoint_run_name,
                                                  checkpoint_run_folder};
}

const void *trainer_service(void *ctx, instance *i, const char *interface_id)
{
    trainer *t = ctx;
    if (strcmp(interface_id, TUTTI_STATE_V1) == 0)
        return &t->state_service;
    if (strcmp(interface_id, TUTTI_METRICS_V1) == 0)
        return &t->metrics_service;
    if (strcmp(interface_id, TUTTI_WEIGHTS_V1) == 0)
        return &t->weights_service;
    if (strcmp(interface_id, TUTTI_TRAIN_V1) == 0)
        return &t->train_service;
    if (strcmp(interface_id, TUTTI_CHECKPOINT_V1) == 0)
        return &t->checkpoint_service;
    if (strcmp(interface_id, TUTTI_MODULE_V1) == 0)
        return t->net ? net_modules(t->net) : NULL;
    if (strcmp(interface_id, TUTTI_ENGINE_V1) == 0)
        return t->engine ? engine_service(t->engine) : NULL;
    if (strcmp(interface_id, TUTTI_PROFILER_V1) == 0)
        return t->profiler ? profiler_service(t->profiler) : NULL;
    if (strcmp(interface_id, TUTTI_LOG_V1) == 0)
        return log_for(t, i);
    if (strcmp(interface_id, TUTTI_KERNEL_V1) == 0 && i)
        return kernels_for(t, i);
    if (strcmp(interface_id, TUTTI_DEVICE_VIEW_V1) == 0 && i)
        return kernels_view(t, i);
    return NULL;
}
