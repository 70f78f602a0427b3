/* trainer.c - putting a run together, and taking it apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/place.h"
#include "graph/recompute.h"
#include "graph/tune_file.h"
#include "train/trainer_internal.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <omp.h>

tutti_status trainer_open(trainer *t, run_part *part, instance **ret_instance, tutti_error *err)
{
    const tutti_status s = instance_open(part->object, part->name, part->params,
                                         trainer_service, t, ret_instance, err);
    if (s == TUTTI_OK)
        part->params = NULL; /* the instance has them */
    return s;
}

void trainer_tune_message(trainer *t)
{
    const char *text = net_tune_complaint(t->net);
    if (text)
        trainer_message(t, TUTTI_LOG_WARNING, "plan", text);
}

static int recompute_of(const char *word)
{
    return strcmp(word, "off") == 0    ? RECOMPUTE_OFF
           : strcmp(word, "full") == 0 ? RECOMPUTE_FULL
                                       : RECOMPUTE_CHEAP;
}

static tutti_status open_model(trainer *t, const tutti_op *const *ops, tutti_error *err)
{
    char path[PATH_MAX];
    const net_options options = {.ops = ops,
                                 .tune_file = choices_path(path, sizeof path),
                                 .layers = t->registry,
                                 .services = trainer_service,
                                 .services_ctx = t,
                                 .seed = t->seed,
                                 .threads = t->threads,
                                 .device = trainer_device(t),
                                 .see_weight = views_module_weight,
                                 .wrote_weight = views_module_wrote,
                                 .precision = precision_of(t->run->precision),
                                 .recompute = recompute_of(t->run->recompute)};
    tutti_status s = net_create(&options, &t->net, err);
    if (s || (s = trainer_open(t, &t->run->model, &t->model, err)))
        return s;
    net_set_groups(t->net, updater_group, t->run);
    t->model_table = instance_query(t->model, TUTTI_MODEL_V1);
    if (!t->model_table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "model %s has no " TUTTI_MODEL_V1,
                          t->run->model.name);
    uint32_t n;
    const tutti_column *columns = loader_columns(t->train.loader, &n);
    if ((s = net_build(t->net, t->model, columns, n, err)))
        return s;
    return net_commit(t->net, err);
}

static void engine_message(void *ctx, int level, const char *component, const char *text)
{
    trainer *t = ctx;
    /* Who asks for these lines wants to see them. */
    if (level == TUTTI_LOG_DEBUG && t->message && t->engine && engine_is_debugged(t->engine))
        t->message(t->message_ctx, level, component, text);
    trainer_message(ctx, level, component, text);
}

/* What functions of the run file can ask for. */
static const void *handler_service(void *ctx, const char *interface_id)
{
    return trainer_service(ctx, NULL, interface_id);
}

/* An algorithm with the trait may make a term of the loss out of the loss's gradients. */
static tutti_status add_penalty(trainer *t, instance *i, tutti_error *err)
{
    const char *const *trait = object_describe(instance_object(i))->traits;
    while (trait && *trait && strcmp(*trait, "backwards_create_graph") != 0)
        trait++;
    if (!trait || !*trait)
        return TUTTI_OK;
    const tutti_penalty_v1 *table = instance_query(i, TUTTI_PENALTY_V1);
    return table ? net_add_penalty(t->net, table, instance_self(i), err) : TUTTI_OK;
}

/* An algorithm may take the update into its own hands. */
static tutti_status add_wrapper(trainer *t, instance *i, tutti_error *err)
{
    const tutti_optimizer_wrapper_v1 *table = instance_query(i, TUTTI_OPTIMIZER_WRAPPER_V1);
    if (!table)
        return TUTTI_OK;
    if (t->wrapper)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s and %s both wrap the optimizer, want one of them",
                          instance_name(t->wrapper), instance_name(i));
    t->wrapper = i;
    t->wrapper_table = table;
    t->wrapper_looks = !TUTTI_HAS(table, tutti_optimizer_wrapper_v1, flags) ||
                       !(table->flags & TUTTI_WRAPPER_NO_LOSS);
    return TUTTI_OK;
}

static tutti_status open_participants(trainer *t, tutti_error *err)
{
    run_parts *lists[] = {&t->run->loggers, &t->run->callbacks, &t->run->algorithms,
                          &t->run->passes};
    size_t n = 0;
    for (size_t l = 0; l < 4; l++)
        n += lists[l]->count;
    t->participants = calloc(n + 1, sizeof(instance *));
    if (!t->participants)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %zu participants", n);
    engine_options options = {.time = &t->time,
                              .eval_time = &t->eval_time,
                              .trace = trainer_trace,
                              .log = engine_message,
                              .ctx = t,
                              .query = handler_service};
    options.nevents = registry_events(t->registry, &options.events);
    tutti_status s = engine_create(&options, &t->engine, err);
    if (s == TUTTI_OK)
        s = trainer_open_profiler(t, err);
    for (size_t l = 0; l < 4; l++)
        for (size_t k = 0; s == TUTTI_OK && k < lists[l]->count; k++) {
            instance **i = &t->participants[t->nparticipants];
            s = trainer_open(t, &lists[l]->items[k], i, err);
            if (s)
                break;
            t->nparticipants++;
            t->nloggers += l == 0;
            s = engine_add(t->engine, *i, err);
            if (s == TUTTI_OK)
                s = add_penalty(t, *i, err);
            if (s == TUTTI_OK)
                s = add_wrapper(t, *i, err);
        }
    if (s == TUTTI_OK)
        s = trainer_bind_handlers(t, err);
    return s ? s : engine_seal(t->engine, err);
}

static tutti_status check_settings(trainer *t, tutti_error *err)
{
    const run_file *run = t->run;
    if (t->max_duration.unit == TUTTI_UNIT_DURATION || t->max_duration.unit == TUTTI_UNIT_NONE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "max_duration is given in dur, want ep, ba, sp, tok or sec");
    if (t->max_duration.unit == TUTTI_UNIT_ITERATION && run->iteration_length.count <= 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "max_duration is given in iter, which needs an iteration_length such "
                          "as \"2ep\"");
    if (t->max_duration.count <= 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "scale_schedule_ratio %g makes a max_duration of nothing, want a "
                          "larger ratio or a longer max_duration",
                          run->scale_schedule_ratio);
    return TUTTI_OK;
}

static tutti_status check_tokens(trainer *t, const char *what, tutti_time time,
                                 const char *want, tutti_error *err)
{
    if (time.unit != TUTTI_UNIT_TOKEN || trainer_has_tokens(t))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s is given in tok, but the data has no tokens, want %s", what, want);
}

static void find_folder(trainer *t)
{
    char here[400];
    if (!getcwd(here, sizeof here))
        strcpy(here, ".");
    (void)snprintf(t->folder, sizeof t->folder, "%s/runs/%.80s", here, t->run->name);
}

static int available_threads(void)
{
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? n : 1;
}

tutti_status trainer_create(run_file *run, registry *r, const tutti_op *const *ops,
                            trainer **ret_trainer, tutti_error *err)
{
    trainer *t = calloc(1, sizeof *t);
    if (!t)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the trainer");
    t->run = run;
    t->registry = r;
    t->ops = ops;
    t->seed = run->seed;
    t->threads = run->threads > 0 ? run->threads : available_threads();
    omp_set_num_threads(t->threads);
    t->microbatch_size =
        run->microbatch_size > 0 && run->microbatch_size < run->train.batch_size
            ? run->microbatch_size
            : run->train.batch_size;
    t->planned = run->max_duration;
    if (run->scale_schedule_ratio != 1.0)
        t->planned.count = (int64_t)((double)t->planned.count * run->scale_schedule_ratio);
    t->max_duration = t->planned;
    t->scheduled.struct_size = sizeof t->scheduled;
    t->time.struct_size = t->eval_time.struct_size = sizeof t->time;
    t->step = (tutti_step){.struct_size = sizeof t->step, .seed = t->seed};
    strcpy(t->loss.name, "loss");
    strcpy(t->outputs[0].name, "outputs");
    strcpy(t->outputs[1].name, "outputs.1");
    scaler_init(&t->scaler, precision_of(run->precision));
    find_folder(t);
    trainer_services_init(t);
    tutti_status s = check_settings(t, err);
    if (s ||
        (s = trainer_open_device(t, err)) || /* first: transforms may have kernels for it */
        (s = source_open(t, &t->train, &run->train, err)) || (s = open_model(t, ops, err)) ||
        (s = updater_open(t, err)))
        goto fail;
    t->evals = calloc(run->nevals + 1, sizeof *t->evals);
    if (!t->evals) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for evaluations");
        goto fail;
    }
    for (size_t k = 0; k < run->nevals; k++) {
        t->nevals = k + 1;
        if ((s = source_open(t, &t->evals[k], &run->evals[k], err)))
            goto fail;
    }
    if ((s = check_tokens(t, "max_duration", t->planned, "ep, ba, sp or sec", err)) ||
        (s = check_tokens(t, "iteration_length", run->iteration_length, "ep", err)))
        goto fail;
    if ((s = open_participants(t, err)) || (s = updater_fit(t, err)))
        goto fail;
    *ret_trainer = t;
    return TUTTI_OK;

fail:
    trainer_destroy(t);
    return s;
}

void trainer_destroy(trainer *t)
{
    if (!t)
        return;
    t->initialised = false;   /* a logger that has closed hears nothing */
    if (trainer_is_remote(t)) /* kernels of plugins may be under way */
        (void)t->device.device.table->synchronise(t->device.device.device, NULL, NULL);
    trainer_end_observation(t);
    if (t->engine)
        engine_close(t->engine);
    engine_destroy(t->engine);
    for (size_t k = 0; k < t->nparticipants; k++)
        instance_free(t->participants[k]);
    free(t->participants);
    trainer_free_observers(t);
    for (size_t k = 0; k < t->nevals; k++)
        source_close(&t->evals[k]);
    free(t->evals);
    source_close(&t->train); /* may lie on the device */
    updater_close(&t->update);
    scalars_fini(&t->scalars);
    if (t->device.device.table) {
        uploads_fini(&t->uploads, trainer_device(t));
        late_fini(&t->late, trainer_device(t));
    }
    batch_fini(&t->whole);
    batch_fini(&t->micro);
    batch_fini(&t->eval_batch);
    net_destroy(t->net);
    kernels_fini(t);
    backend_close(&t->device);
    instance_free(t->model);
    views_fini(&t->views);
    for (size_t k = 0; k < sizeof t->forward_views / sizeof *t->forward_views; k++)
        view_fini(&t->forward_views[k]);
    view_fini(&t->loss.view);
    view_fini(&t->outputs[0].view);
    view_fini(&t->outputs[1].view);
    value_table_fini(&t->values);
    while (t->logs) {
        log_service *next = t->logs->next;
        free(t->logs);
        t->logs = next;
    }
    free(t);
}

void trainer_on_message(trainer *t,
                        void (*message)(void *ctx, int level, const char *component,
                                        const char *text),
                        void *ctx)
{
    t->message = message;
    t->message_ctx = ctx;
}

engine *trainer_engine(trainer *t)
{
    return t->engine;
}

const tutti_timestamp *trainer_time(const trainer *t)
{
    return &t->time;
}
