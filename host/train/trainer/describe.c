/* describe.c - what a run is, for who tells it to people. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/describe.h"

#include "train/checkpoint/saver.h"
#include "train/step/trainer_state.h"

#include <string.h>

run_facts trainer_facts(const trainer *t)
{
    run_facts f = {.threads = t->run.threads,
                   .slots = t->updater.nslots,
                   .device = t->run.device.device.info.name,
                   .folder = t->run.folder};
    for (uint32_t k = 0; t->run.net && k < net_weight_count(t->run.net); k++) {
        const tutti_weight *w = net_weight(t->run.net, k);
        const bool frozen = net_frozen(t->run.net, k);
        if (!(w->flags & TUTTI_WEIGHT_TRAINABLE) && !frozen)
            continue;
        f.weights++;
        f.parameters += tutti_numel(&w->data.desc);
        f.trained += frozen ? 0 : tutti_numel(&w->data.desc);
    }
    return f;
}

bool trainer_data(const trainer *t, size_t k, data_facts *ret_facts)
{
    const data_source *s = &t->train;
    if (k > t->nevals)
        return false;
    if (k > 0)
        s = &t->evals[k - 1];
    *ret_facts = (data_facts){.label = k ? s->spec->label : "train"};
    if (!s->loader) /* a loop of functions */
        return true;
    ret_facts->dataset = object_describe(instance_object(s->dataset))->name;
    ret_facts->samples = loader_dataset(s->loader)->samples;
    ret_facts->batches = source_batches(s);
    ret_facts->batch_size = s->spec->batch_size;
    return true;
}

const char *trainer_algorithm(const trainer *t, size_t k)
{
    for (size_t i = 0; i < t->run.participants.count; i++) {
        const instance *one = t->run.participants.items[i];
        if (strcmp(object_describe(instance_object(one))->kind, TUTTI_KIND_ALGORITHM) == 0 &&
            k-- == 0)
            return instance_name(one);
    }
    return NULL;
}

const char *trainer_newest_checkpoint(const trainer *t)
{
    saver s;
    return saver_find(&t->run, &s) && saver_has_paths(&s) ? saver_path(&s, 0) : NULL;
}

void trainer_log_locations(const trainer *t,
                           void (*tell)(void *ctx, const char *logger, const char *location),
                           void *ctx)
{
    run_log_locations(&t->run.log, tell, ctx);
}

tutti_status trainer_profile_steps(trainer *t, tutti_error *err)
{
    if (context_is_remote(&t->run))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "operations run on the device, where their time is not measured");
    if (t->run.net && t->observers.profiler)
        step_profile_start(&t->observers.steps, t->observers.profiler, t->run.net);
    return TUTTI_OK;
}

const profiler *trainer_profiler(const trainer *t)
{
    return t->observers.profiler;
}

const step_profile *trainer_steps(const trainer *t)
{
    return t->observers.steps.profiler ? &t->observers.steps : NULL;
}

int trainer_threads(const trainer *t)
{
    return t->run.threads;
}

void trainer_on_fact(trainer *t, void (*tell)(void *ctx, const char *key, const char *text),
                     void *ctx)
{
    t->hooks.facts.call = tell;
    t->hooks.facts.ctx = ctx;
}

void trainer_on_begin(trainer *t, void (*begun)(void *ctx, const trainer *t), void *ctx)
{
    t->hooks.begun.call = begun;
    t->hooks.begun.ctx = ctx;
}
