/* services.c - what plugins can ask of a run: tutti.checkpoint/1, and who answers for the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/services.h"

#include "base/released.h"
#include "graph/surgery/surgery.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/resume.h"
#include "train/checkpoint/saver.h"
#include "train/record/own_files.h"
#include "train/step/step_services.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"
#include "train/trainer/describe.h"
#include "train/trainer/export.h"
#include "train/trainer/trainer.h"
#include "tutti/kernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- checkpoint ---- */

static int32_t checkpoint_due(void *ctx, int32_t event)
{
    return saver_is_due(&((trainer *)ctx)->run, event);
}

static tutti_status checkpoint_save(void *ctx, const char *path, tutti_error *err)
{
    static const tutti_save_part whole = {.struct_size = sizeof whole};
    return trainer_save(ctx, path, &whole, err);
}

static tutti_status checkpoint_save_behind(void *ctx, const char *path, tutti_error *err)
{
    static const tutti_save_part whole = {.struct_size = sizeof whole,
                                          .flags = TUTTI_SAVE_BEHIND};
    return trainer_save(ctx, path, &whole, err);
}

static tutti_status checkpoint_save_part(void *ctx, const char *path,
                                         const tutti_save_part *part, tutti_error *err)
{
    const tutti_status s = RELEASED_TAKE(tutti_save_part, part, err);
    if (s)
        return s;
    if (part->flags & ~(uint32_t)(TUTTI_SAVE_WEIGHTS | TUTTI_SAVE_BEHIND))
        return tutti_fail(err, TUTTI_E_ARG, "%s: saved with flags 0x%x, which are unknown",
                          path, part->flags);
    return trainer_save(ctx, path, part, err);
}

static tutti_status checkpoint_settle(void *ctx, int32_t wait, int32_t *ret_whole,
                                      tutti_error *err)
{
    bool whole = false;
    const tutti_status s = trainer_settle(ctx, wait != 0, &whole, err);
    *ret_whole = whole;
    return s;
}

static tutti_status checkpoint_load(void *ctx, const char *path, const tutti_load *how,
                                    tutti_error *err)
{
    const tutti_status s = RELEASED_TAKE(tutti_load, how, err);
    return s ? s : trainer_load_part(ctx, path, how, err);
}

static const char *checkpoint_run_name(void *ctx)
{
    return ((trainer *)ctx)->run.file->name;
}

static const char *checkpoint_run_folder(void *ctx)
{
    return ((trainer *)ctx)->run.folder;
}

static tutti_status checkpoint_claim(void *ctx, const char *folder, tutti_error *err)
{
    trainer *t = ctx;
    const bool writes = t->run.stage.fits && distributed_first(&t->distributed);
    const tutti_status s = writes ? trainer_claim(t, folder, err) : TUTTI_OK;
    return s || !writes ? s : reproduction_keep(&t->run, folder, err);
}

static tutti_status checkpoint_own(void *ctx, const char *path, tutti_error *err)
{
    trainer *t = ctx;
    return own_files_add(t->own, &t->run, path, err);
}

static int32_t checkpoint_owns(void *ctx, const char *path)
{
    const trainer *t = ctx;
    return own_files_have(t->own, &t->run, path);
}

/* ---- data ---- */

static int32_t state_data(void *ctx, uint32_t k, tutti_data *ret_data)
{
    data_facts f;
    tutti_error none = TUTTI_ERROR_INIT;
    if (!trainer_data(ctx, k, &f))
        return 0;
    const tutti_data data = {sizeof data, 0, f.label, f.samples, f.batch_size};
    return RELEASED_GIVE(tutti_data, ret_data, &data, &none) == TUTTI_OK;
}

void trainer_services_init(trainer *t)
{
    trainer_services *s = t->services;
    state_service_init(&s->state, &s->metrics, t);
    s->state.data = state_data;
    train_service_init(&s->train, t);
    activations_service_init(&s->activations, t);
    plan_service_init(&s->plan, t);
    weights_service_init(&s->weights, &t->updater);
    export_service_init(&s->exporting, t);
    ranks_service_init(&s->ranks);
    s->checkpoint = (tutti_checkpoint_v1){.struct_size = sizeof s->checkpoint,
                                          .ctx = t,
                                          .due = checkpoint_due,
                                          .save = checkpoint_save,
                                          .run_name = checkpoint_run_name,
                                          .run_folder = checkpoint_run_folder,
                                          .claim = checkpoint_claim,
                                          .save_behind = checkpoint_save_behind,
                                          .settle = checkpoint_settle,
                                          .save_part = checkpoint_save_part,
                                          .load = checkpoint_load,
                                          .own = checkpoint_own,
                                          .owns = checkpoint_owns};
}

/* Loggers, which rank 0 alone has, may run the model forward: by tutti.train/1, which tutti.engine/1 can be asked for. */
static bool runs_alone(const instance *i, const char *interface_id)
{
    return i && strcmp(object_describe(instance_object(i))->kind, TUTTI_KIND_LOGGER) == 0 &&
           (strcmp(interface_id, TUTTI_TRAIN_V1) == 0 ||
            strcmp(interface_id, TUTTI_ENGINE_V1) == 0);
}

/* Between batches, where one process alone may do so. */
static bool reads_weights(const instance *i, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_WEIGHTS_V1) == 0 ||
           strcmp(interface_id, TUTTI_EXPORT_V1) == 0 || runs_alone(i, interface_id);
}

const void *trainer_service(void *ctx, instance *i, const char *interface_id)
{
    trainer *t = ctx;
    const char *who = i ? instance_name(i) : "a plugin";
    if (reads_weights(i, interface_id))
        distributed_reads_weights(&t->distributed, who, runs_alone(i, interface_id));
    if (strcmp(interface_id, TUTTI_WEIGHTS_V1) == 0 ||
        (t->run.file->distributed.sharding == SHARDING_WEIGHTS &&
         strcmp(interface_id, TUTTI_ACTIVATIONS_V1) == 0))
        distributed_reads(&t->distributed, who);
    trainer_reads_outputs(t, i, interface_id);
    if (strcmp(interface_id, TUTTI_WORLD_V1) == 0)
        return distributed_on(&t->distributed) ? world_service(t->distributed.world) : NULL;
    if (strcmp(interface_id, TUTTI_RANKS_V1) == 0) {
        t->services->ranks.world = t->distributed.world;
        return &t->services->ranks.table;
    }
    if (strcmp(interface_id, TUTTI_STATE_V1) == 0)
        return &t->services->state;
    if (strcmp(interface_id, TUTTI_METRICS_V1) == 0)
        return &t->services->metrics;
    if (strcmp(interface_id, TUTTI_HISTORY_V1) == 0)
        return run_log_history(&t->run.log);
    if (strcmp(interface_id, TUTTI_FILES_V1) == 0)
        return run_log_files(&t->run.log);
    if (strcmp(interface_id, TUTTI_WEIGHTS_V1) == 0)
        return t->run.file->model.object ? &t->services->weights.table : NULL;
    if (strcmp(interface_id, TUTTI_TRAIN_V1) == 0)
        return t->run.file->model.object ? &t->services->train : NULL;
    if (strcmp(interface_id, TUTTI_ACTIVATIONS_V1) == 0)
        return t->run.file->model.object ? &t->services->activations : NULL;
    if (strcmp(interface_id, TUTTI_PLAN_V1) == 0) {
        t->plans.counts = true;
        return t->run.file->model.object ? &t->services->plan : NULL;
    }
    if (strcmp(interface_id, TUTTI_CHECKPOINT_V1) == 0)
        return &t->services->checkpoint;
    if (strcmp(interface_id, TUTTI_EXPORT_V1) == 0)
        return t->run.file->model.object ? &t->services->exporting : NULL;
    if (strcmp(interface_id, TUTTI_MODULE_V1) == 0)
        return t->run.net ? net_modules(t->run.net) : NULL;
    if (strcmp(interface_id, TUTTI_ENGINE_V1) == 0)
        return t->run.engine ? engine_service(t->run.engine) : NULL;
    if (strcmp(interface_id, TUTTI_PROFILER_V1) == 0)
        return t->observers.profiler ? profiler_service(t->observers.profiler) : NULL;
    if (strcmp(interface_id, TUTTI_LOG_V1) == 0)
        return run_log_service(&t->run.log, i);
    if (strcmp(interface_id, TUTTI_KERNEL_V1) == 0 && i)
        return kernels_service(&t->kernels, i);
    if (strcmp(interface_id, TUTTI_DEVICE_VIEW_V1) == 0 && i)
        return kernels_view(&t->kernels, i);
    return t->hooks.answer ? t->hooks.answer(t->hooks.ctx, interface_id) : NULL;
}
