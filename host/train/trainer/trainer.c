/* trainer.c - putting a run together, and taking it apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/trainer.h"
#include "base/cpus.h"
#include "graph/plan/loss.h"
#include "graph/plan/plan_workspace.h"
#include "graph/runtime/autotune_file.h"
#include "graph/runtime/device_memory.h"
#include "graph/surgery/surgery.h"
#include "train/checkpoint/class_check.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/resume.h"
#include "train/record/own_files.h"
#include "train/record/record.h"
#include "train/step/memory_observers.h"
#include "train/step/plan_step.h"
#include "train/step/side_by_side.h"
#include "train/step/trainer_state.h"
#include "train/trainer/evaluate.h"
#include "train/trainer/participants.h"
#include "train/trainer/rank_batches.h"
#include "train/trainer/services.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <omp.h>

static tutti_status see_module_weight(void *ctx, tutti_tensor *tensor, tutti_error *err)
{
    return mirrors_module_weight(&((trainer *)ctx)->mirrors, tensor, err);
}

static void wrote_module_weight(void *ctx)
{
    mirrors_module_wrote(&((trainer *)ctx)->mirrors);
}

/* The loss that the run file has in the place of the model's. */
static tutti_status open_loss(run_context *run, tutti_error *err)
{
    run_part *part = &run->file->loss;
    if (!part->object)
        return TUTTI_OK;
    const tutti_status s = context_open(run, part, &run->loss, err);
    const tutti_loss_v1 *table = s ? NULL : instance_query(run->loss, TUTTI_LOSS_V1);
    if (!s && !table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "loss %s has no " TUTTI_LOSS_V1,
                          part->name);
    return s ? s
             : net_set_loss(run->net, table, instance_self(run->loss), instance_name(run->loss),
                            run->loss, err);
}

static tutti_status open_model(trainer *t, const tutti_op *const *ops, tutti_error *err)
{
    char path[PATH_MAX];
    if (!t->run.file->model.object) /* a loop of functions */
        return TUTTI_OK;
    const net_options options = {
        .ops = ops,
        .tune_file = t->run.file->numerics.deterministic == RUN_REPEATS_RUN &&
                             distributed_first(&t->distributed)
                         ? choices_path(path, sizeof path)
                         : NULL,
        .layers = t->run.registry,
        .reproducible = t->run.file->numerics.deterministic == RUN_REPEATS_ANYWHERE,
        .services = trainer_service,
        .services_ctx = t,
        .seed = t->run.seed,
        .threads = t->run.threads,
        .deferred_init = !distributed_on(&t->distributed), /* until trainer_begin has loaded */
        .device = context_device(&t->run),
        .see_weight = see_module_weight,
        .wrote_weight = wrote_module_weight,
        .lacks_memory = memory_plan_refused,
        .precision = precision_of(t->run.file->numerics.precision),
        .rematerialize = trainer_recompute(t)};
    const run_distributed *d = &t->run.file->distributed;
    tutti_status s = net_create(&options, &t->run.net, err);
    if (!s && d->comm.object && d->batch_norm == BATCH_NORM_WORLD)
        s = net_set_across_slots(t->run.net, err);
    if (s || (s = context_open(&t->run, &t->run.file->model, &t->run.model, err)))
        return s;
    net_set_groups(t->run.net, updater_group, t->run.file);
    t->run.model_table = instance_query(t->run.model, TUTTI_MODEL_V1);
    if (!t->run.model_table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "model %s has no " TUTTI_MODEL_V1,
                          t->run.file->model.name);
    uint32_t n;
    const tutti_column *columns = loader_columns(t->train.loader, &n);
    if ((s = net_build(t->run.net, t->run.model, columns, n, err)) ||
        (s = open_loss(&t->run, err)))
        return s;
    if ((s = net_commit(t->run.net, err)))
        return s;
    distributed_fit_buckets(&t->distributed);
    return TUTTI_OK;
}

static tutti_status check_settings(trainer *t, tutti_error *err)
{
    const run_file *run = t->run.file;
    if (t->run.clock.max_duration.unit == TUTTI_UNIT_DURATION ||
        t->run.clock.max_duration.unit == TUTTI_UNIT_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "max_duration is given in dur, want ep, ba, sp, tok or sec");
    if (t->run.clock.max_duration.unit == TUTTI_UNIT_ITERATION &&
        run->length.iteration_length.count <= 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "max_duration is given in iter, which needs an iteration_length such "
                          "as \"2ep\"");
    if (t->run.clock.max_duration.count <= 0 && run->length.max_duration.count > 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "scale_schedule_ratio %g makes a max_duration of nothing, want a "
                          "larger ratio or a longer max_duration",
                          run->length.scale_schedule_ratio);
    return TUTTI_OK;
}

static tutti_status check_tokens(trainer *t, const char *what, tutti_time time,
                                 const char *want, tutti_error *err)
{
    if (time.unit != TUTTI_UNIT_TOKEN || source_has_tokens(&t->train))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s is given in tok, but the data has no tokens, want %s", what, want);
}

static void find_folder(run_context *run)
{
    char here[400];
    const char *folder = getcwd(here, sizeof here) ? here : ".";
    (void)snprintf(run->folder, sizeof run->folder, "%s/runs/%.80s", folder, run->file->name);
}

static void init_clock(run_clock *c, const run_file *file)
{
    c->planned = file->length.max_duration;
    if (file->length.scale_schedule_ratio != 1.0)
        c->planned.count =
            (int64_t)((double)c->planned.count * file->length.scale_schedule_ratio);
    c->max_duration = c->planned;
    c->now.struct_size = c->eval.struct_size = c->scheduled.struct_size = sizeof c->now;
}

static void init_context(run_context *run, run_file *file, registry *r,
                         const tutti_op *const *ops)
{
    run->file = file;
    run->registry = r;
    run->ops = ops;
    run->services = trainer_service;
    run->seed = file->seed;
    run->threads = file->threads > 0 ? file->threads : cpus_available();
    run->step = (tutti_step){.struct_size = sizeof run->step, .seed = run->seed};
    run->log.now = &run->clock.now;
    run_log_own(&run->log);
    run->log.tells_all = file->engine; /* whose functions talk to who runs it */
    init_clock(&run->clock, file);
    find_folder(run);
}

static tutti_status apply_gradient_factor(void *ctx, tutti_error *err)
{
    return scalars_apply_factor(ctx, err);
}

/* A trainer with the components that it points to. */
typedef struct whole_trainer {
    trainer trainer; /* first: a pointer to it is one to all */
    trainer_resume resume;
    run_record record;
    own_files own;
    trainer_evaluation evaluation;
    trainer_services services;
} whole_trainer;

static trainer *allocate(void)
{
    whole_trainer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->trainer.resume = &w->resume;
    w->trainer.record = &w->record;
    w->trainer.own = &w->own;
    w->trainer.evaluation = &w->evaluation;
    w->trainer.services = &w->services;
    return &w->trainer;
}

/* Each component knows the ones below it. */
static void connect_components(trainer *t)
{
    run_context *run = &t->run;
    const run_file *file = run->file;
    run->services_ctx = t;
    t->mirrors.run = run;
    t->mirrors.sharded = &t->distributed.gradients.weights.sharded;
    t->mirrors.before_gradients = apply_gradient_factor;
    t->mirrors.before_gradients_ctx = &t->scalars;
    tensors_init(&t->tensors, run, &t->mirrors);
    t->tensors.microbatch_size =
        file->microbatch_size > 0 && file->microbatch_size < file->train.batch_size
            ? file->microbatch_size
            : file->train.batch_size;
    t->scalars.run = run;
    t->scalars.mirrors = &t->mirrors;
    t->scalars.loss_scaler = &t->scaler;
    t->scalars.updater = &t->updater;
    scaler_init(&t->scaler, run, &t->mirrors, &t->scalars,
                precision_of(file->numerics.precision));
    t->updater.run = run;
    t->updater.mirrors = &t->mirrors;
    t->updater.scalars = &t->scalars;
    t->updater.scaler = &t->scaler;
    t->kernels = (plugin_kernels){.run = run,
                                  .mirrors = &t->mirrors,
                                  .tensors = &t->tensors,
                                  .scalars = &t->scalars,
                                  .updater = &t->updater,
                                  .uploads = &t->uploads};
    t->guard = (numeric_guard){.run = run, .tensors = &t->tensors, .scaler = &t->scaler};
    t->async.run = run;
    t->async.guard = &t->guard;
    t->async.tensors = &t->tensors;
    t->async.metrics = &t->train.metrics;
    t->async.scaler = &t->scaler;
    t->async.scalars = &t->scalars;
    t->distributed.run = run;
    t->distributed.metrics = &t->train.metrics;
    trainer_services_init(t);
}

static tutti_status open_evaluations(trainer *t, tutti_error *err)
{
    run_file *file = t->run.file;
    t->evals = calloc(file->nevals + 1, sizeof *t->evals);
    if (!t->evals)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for evaluations");
    for (size_t k = 0; k < file->nevals; k++) {
        t->nevals = k + 1;
        const tutti_status s = source_open(&t->evals[k], &t->run, &file->evals[k], err);
        if (s)
            return s;
    }
    return class_check_evaluations(t, err);
}

static int64_t epoch_length(const trainer *t)
{
    const int64_t given = t->run.file->engine ? t->run.file->loop.args.epoch_length : -1;
    return given > 0 ? given : source_batches(&t->train);
}

static tutti_status open_all(trainer *t, tutti_error *err)
{
    run_context *run = &t->run;
    tutti_status s = check_settings(t, err);
    if (s ||
        (s = context_open_device(run, err)) || /* first: transforms may have kernels for it */
        (s = reproduction_check(run, err)) || (s = distributed_check(&t->distributed, err)) ||
        (run->file->train.dataset.object &&
         (s = source_open(&t->train, run, &run->file->train, err))))
        return s;
    run->clock.batches_per_epoch = epoch_length(t);
    if ((s = open_model(t, run->ops, err)) ||
        (s = updater_open(&t->updater, &t->kernels, err)) || (s = open_evaluations(t, err)) ||
        (s = check_tokens(t, "max_duration", run->clock.planned, "ep, ba, sp or sec", err)) ||
        (s = check_tokens(t, "iteration_length", run->file->length.iteration_length, "ep",
                          err)) ||
        (s = source_check_epochs(&t->train, run, err)) ||
        (s = trainer_open_participants(t, err)))
        return s;
    rank_batches_open(t);
    if (run->file->distributed.sharding != SHARDING_NONE)
        t->updater.world = t->distributed.world;
    t->updater.sharding.devices = &t->distributed.device.device;
    t->updater.sharding.stale = &t->distributed.gradients.weights.sharded;
    distributed_reads(&t->distributed, t->scaler.on ? "the loss scale" : NULL);
    return updater_refit(&t->updater, err);
}

tutti_status trainer_create(run_file *run, registry *r, const tutti_op *const *ops,
                            trainer **ret_trainer, tutti_error *err)
{
    trainer *t = allocate();
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the trainer");
    init_context(&t->run, run, r, ops);
    connect_components(t);
    omp_set_num_threads(t->run.threads);
    tutti_status s = distributed_open(&t->distributed, err);
    if (!s && !(s = distributed_agree(&t->distributed, open_all(t, err), err)) &&
        !(s = rank_batches_compare(t, err)))
        s = distributed_join_devices(&t->distributed, err);
    t->run.stage.failed = s != TUTTI_OK;
    *ret_trainer = t;
    return s;
}

/* What uses the device goes before it, and objects of plugins before what they may call. */
void trainer_destroy(trainer *t)
{
    if (!t)
        return;
    run_context *run = &t->run;
    trainer_end_saving(t);
    run_log_own(&run->log);
    run_log_hand_over(&run->log);
    run->log.ready = false;     /* a logger that has closed hears nothing */
    if (context_is_remote(run)) /* kernels of plugins may be under way */
        (void)run->device.device.table->synchronise(run->device.device.device, NULL, NULL);
    observers_finish(&t->observers, run);
    if (run->engine)
        engine_close(run->engine);
    engine_destroy(run->engine);
    for (size_t k = 0; k < run->participants.count; k++)
        instance_free(run->participants.items[k]);
    free(run->participants.items);
    run->participants.items = run->log.loggers =
        NULL; /* messages go to the terminal alone now */
    run->participants.count = run->log.nloggers = 0;
    observers_close(&t->observers, run);
    for (size_t k = 0; k < t->nevals; k++)
        source_close(&t->evals[k]);
    free(t->evals);
    source_close(&t->train); /* may lie on the device */
    rank_batches_close(t);
    updater_close(&t->updater);
    scalars_fini(&t->scalars);
    if (run->device.device.table) {
        uploads_fini(&t->uploads, context_device(run));
        async_fini(&t->async);
    }
    tensors_fini(&t->tensors);
    evaluation_fini(t->evaluation);
    side_by_side_fini(&t->plans);
    net_destroy(run->net);
    kernels_fini(&t->kernels);
    backend_close(&run->device);
    instance_free(run->loss);
    instance_free(run->model);
    rank_batches_leave(t); /* a plugin that closes asks for its rank */
    mirrors_fini(&t->mirrors);
    run_log_fini(&run->log);
    record_fini(t->record);
    own_files_fini(t->own);
    folder_lock_release(t->locks); /* all files are closed */
    free(t);
}

void trainer_on_message(trainer *t,
                        void (*message)(void *ctx, int level, const char *component,
                                        const char *text),
                        void *ctx, bool all)
{
    t->run.log.tells_all = t->run.log.tells_all || all;
    t->run.log.message = message;
    t->run.log.message_ctx = ctx;
}

engine *trainer_engine(trainer *t)
{
    return t->run.engine;
}

const tutti_timestamp *trainer_time(const trainer *t)
{
    return &t->run.clock.now;
}

const double *trainer_metric(const trainer *t, const char *name)
{
    return run_log_value(&t->run.log, name);
}

const tutti_history_v1 *trainer_history(const trainer *t)
{
    return run_log_history(&t->run.log);
}

bool trainer_finished(const trainer *t)
{
    return run_is_over(&t->run);
}
