/* plan_step.c - one plan: asked for by the columns of a batch, bound to them, run by segments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/plan_step.h"

#include "graph/passes/rematerialization.h"
#include "graph/runtime/device_memory.h"
#include "train/run_file/run_reader.h"
#include "train/step/trainer_state.h"
#include "tutti/device_view.h"
#include "tutti/engine.h"
#include "tutti/state.h"

#include <math.h>
#include <string.h>

int trainer_recompute(const trainer *t)
{
    const char *word = t->run.file->recompute;
    return strcmp(word, "off") == 0    ? REMATERIALIZE_OFF
           : strcmp(word, "full") == 0 ? REMATERIALIZE_FULL
                                       : REMATERIALIZE_CHEAP;
}

static tutti_status describe(batch *b, const char *const *names, tutti_desc *descs,
                             uint32_t *ret_count, tutti_error *err)
{
    uint32_t n = 0;
    for (; names && names[n]; n++) {
        const slot *s = batch_find(b, names[n]);
        if (!s)
            return tutti_fail(
                err, TUTTI_E_NOTFOUND,
                "the model needs the batch column %s, which the data does not have", names[n]);
        descs[n] = s->now.desc;
    }
    *ret_count = n;
    return TUTTI_OK;
}

tutti_status trainer_request(trainer *t, int kind, batch *b, plan_request *ret_request,
                             tutti_error *err)
{
    memset(ret_request, 0, sizeof *ret_request);
    ret_request->kind = kind;
    ret_request->half_outputs = kind <= PLAN_TRAIN_ADD && trainer_hides_outputs(t);
    ret_request->spends_outputs = kind <= PLAN_TRAIN_ADD && trainer_spends_outputs(t, NULL);
    const tutti_status s = describe(b, t->run.model_table->inputs, ret_request->inputs,
                                    &ret_request->ninputs, err);
    return s ? s
             : describe(b, t->run.model_table->targets, ret_request->targets,
                        &ret_request->ntargets, err);
}

/* Kernels want 64-byte alignment; rows inside a batch often do not have it. */
static bool aligned(const void *p)
{
    return ((uintptr_t)p & 63) == 0;
}

/* By the `lane`-th staging memory. */
static tutti_status send(trainer *t, uint32_t lane, void *to, const tutti_tensor *from,
                         tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    return device_is_host(d) || from->device != TUTTI_DEVICE_CPU
               ? device_copy(d, to, from->data, tutti_nbytes(&from->desc), TUTTI_COPY_ON_DEVICE,
                             err)
               : upload_run(&t->uploads, d, lane, to, from, err);
}

tutti_status trainer_send_input(trainer *t, uint32_t k, void *to, const tutti_tensor *from,
                                tutti_error *err)
{
    return send(t, k, to, from, err);
}

/* Where the plan reads column `from`, its k-th input or target. */
static tutti_status bind_column(trainer *t, plan *p, uint32_t k, const tutti_tensor *from,
                                bool target, tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    const uint64_t bytes = tutti_nbytes(&from->desc);
    void (*set)(plan *, uint32_t, const void *) = target ? plan_set_target : plan_set_input;
    /* On a device the plan reads its own memory: graphs of a device know their places. */
    if (device_is_host(d) && aligned(from->data)) {
        set(p, k, from->data);
        return TUTTI_OK;
    }
    set(p, k, NULL);
    void *to = (target ? plan_target(p, k) : plan_input(p, k)).data;
    if (!to)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a batch's column of %llu bytes",
                          (unsigned long long)bytes);
    return send(t, k + (target ? TUTTI_MAX_COLUMNS : 0), to, from, err);
}

tutti_status trainer_bind_inputs(trainer *t, plan *p, batch *b, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; t->run.model_table->inputs[k] && !s; k++)
        s = bind_column(t, p, k, &batch_find(b, t->run.model_table->inputs[k])->now, false,
                        err);
    return s;
}

tutti_status trainer_bind_targets(trainer *t, plan *p, batch *b, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; t->run.model_table->targets && t->run.model_table->targets[k] && !s;
         k++)
        s = bind_column(t, p, k, &batch_find(b, t->run.model_table->targets[k])->now, true,
                        err);
    return s;
}

tutti_status trainer_aim_scale(trainer *t, plan *p, double weight, tutti_error *err)
{
    if (!t->scaler.on || !t->scalars.on) {
        t->plans.loss_scale = (float)(weight * scaler_scale(&t->scaler));
        return TUTTI_OK;
    }
    t->plans.loss_scale = NAN;
    return scalars_loss_scale(&t->scalars, weight, plan_scale(p), err);
}

tutti_status trainer_run(trainer *t, plan *p, int segment, float loss_scale, tutti_error *err)
{
    static const unsigned changes[] = {1u << MIRROR_RESULTS | 1u << MIRROR_BUFFERS,
                                       1u << MIRROR_RESULTS, 1u << MIRROR_GRADIENTS};
    const tutti_status s = mirrors_flush(&t->mirrors, false, err);
    if (s)
        return s;
    mirrors_invalidate(&t->mirrors, changes[segment]);
    return plan_run(p, segment, &t->run.step, loss_scale, err);
}

int trainer_merges(const trainer *t, int first, bool last)
{
    const engine *e = t->run.engine;
    int end = first;
    if (end == SEGMENT_FORWARD && !engine_hears(e, TUTTI_EVENT_AFTER_FORWARD) &&
        !engine_hears(e, TUTTI_EVENT_BEFORE_LOSS))
        end = SEGMENT_LOSS;
    if (end == SEGMENT_LOSS && !engine_hears(e, TUTTI_EVENT_AFTER_LOSS) &&
        !engine_hears(e, TUTTI_EVENT_BEFORE_BACKWARD))
        end = SEGMENT_BACKWARD;
    if (end == SEGMENT_BACKWARD && last && !t->run.participants.wrapper &&
        updater_merges(&t->updater) && !engine_hears(e, TUTTI_EVENT_AFTER_BACKWARD) &&
        !engine_hears(e, TUTTI_EVENT_AFTER_TRAIN_BATCH))
        end = SEGMENT_UPDATE;
    return end;
}

bool trainer_hides_outputs(const trainer *t)
{
    return context_is_remote(&t->run) && !t->train.metrics.count &&
           trainer_merges(t, SEGMENT_FORWARD, false) >= SEGMENT_BACKWARD;
}

void trainer_reads_outputs(trainer *t, const instance *i, const char *interface_id)
{
    if (t->plans.outputs_reader || (strcmp(interface_id, TUTTI_STATE_V1) != 0 &&
                                    strcmp(interface_id, TUTTI_DEVICE_VIEW_V1) != 0 &&
                                    strcmp(interface_id, TUTTI_ENGINE_V1) != 0))
        return;
    if (!i || !run_has_tag(instance_object(i), RUN_IGNORES_OUTPUTS))
        t->plans.outputs_reader = i ? instance_name(i) : "a function";
}

/* Who hears events may ask for a service at any of them. */
static const char *outputs_reader(const trainer *t)
{
    const instance *i;
    if (t->plans.outputs_reader)
        return t->plans.outputs_reader;
    if (t->run.file->observers.handlers.count)
        return "handlers";
    for (size_t k = 0; engine_instance(t->run.engine, k, &i); k++)
        if (!i || !run_has_tag(instance_object(i), RUN_IGNORES_OUTPUTS))
            return i ? instance_name(i) : "a function";
    return NULL;
}

bool trainer_spends_outputs(const trainer *t, const char **ret_reader)
{
    const bool may = !t->train.metrics.count && !distributed_on(&t->distributed) &&
                     trainer_merges(t, SEGMENT_FORWARD, false) >= SEGMENT_BACKWARD;
    const char *who = may ? outputs_reader(t) : NULL;
    if (ret_reader)
        *ret_reader = who;
    return may && !who;
}

tutti_status trainer_run_merged(trainer *t, plan *p, int first, int last, tutti_error *err)
{
    const bool updates = last == SEGMENT_UPDATE;
    plan_tail tail;
    tutti_status s = TUTTI_OK;
    const bool here = !context_is_remote(&t->run);
    if ((here || t->plans.apart) && first <= SEGMENT_LOSS && last > SEGMENT_LOSS) {
        /* Weights stay as they are when the loss is not finite. */
        if ((s = trainer_run_merged(t, p, first, SEGMENT_LOSS, err)) ||
            (here && (s = guard_plan(&t->guard, p, err))))
            return s;
        first = SEGMENT_BACKWARD;
    }
    if (first == last)
        return trainer_run(t, p, first, t->plans.loss_scale, err);
    if ((s = mirrors_flush(&t->mirrors, false, err)) ||
        (updates && (s = updater_begin(&t->updater, err))))
        return s;
    mirrors_invalidate(&t->mirrors, MIRROR_ALL);
    if (updates) {
        tail = updater_tail(&t->updater);
        crash_breadcrumb.whole = true; /* as in update() of train_step.c */
    }
    s = plan_run_merged(p, first, updates ? SEGMENT_BACKWARD : last, updates ? &tail : NULL,
                        &t->run.step, t->plans.loss_scale, err);
    if (updates && !s)
        updater_end(&t->updater);
    t->plans.updated = updates && !s;
    return s;
}
