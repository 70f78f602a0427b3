/* run.c - tutti run: Ignite's loop over a dataset, with functions of plugins. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/engine_file.h"
#include "tutti/log.h"
#include "tutti/loop.h"
#include "tutti/metrics.h"
#include "tutti/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tutti run ENGINE.json [--set path=value]... [--plugin-path DIR]...\n\n"
    "Runs a loop over data: for every batch a function of a plugin, at every event the "
    "handlers.\n"
    "  {\"data\": {\"dataset\": {\"name\": \"glyphs\"}, \"transforms\": [], \"batch_size\": "
    "128},\n"
    "   \"process\": {\"call\": \"batch_mean.of\", \"args\": [\"input\"]},\n"
    "   \"handlers\": [{\"on\": \"iteration_completed\", \"every\": 10, \"call\": "
    "\"demo.note\",\n"
    "                 \"args\": [\"output\", 0.5]}],\n"
    "   \"max_epochs\": 3}\n"
    "data        a dataset with transforms, batch_size, shuffle, drop_last, workers, "
    "prefetch,\n"
    "            subset_num_batches; without it epoch_length counts batches of nothing\n"
    "max_epochs  or max_iters, the limit; one epoch without either\n"
    "epoch_length, seed, deterministic  as Ignite's\n"
    "Exit status: 0 done, 1 the run failed, 2 wrong usage or input, 128 + signal when "
    "stopped.\n";

/* Everything of one run. */
typedef struct show {
    engine_file *file;
    registry *registry;
    tutti_loop *loop;
    instance *dataset;
    instance **transforms;
    loader *loader;
    int64_t pass; /* over the data, from 0; -1 before the first */
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
    double output;
    tutti_event now;
    tutti_timestamp time;
    tutti_time no_duration;
    uint64_t seed;
    uint32_t microbatch;
    tutti_engine_v1 engine;
    tutti_state_v1 state;
    tutti_metrics_v1 metrics;
    tutti_log_v1 log;
    tutti_loop_v1 control;
} show;

/* ---- the batch as the state's ---- */

static tutti_status get_column(void *ctx, const char *name, tutti_tensor *ret_view,
                               tutti_error *err)
{
    show *s = ctx;
    uint32_t n = 0;
    const tutti_column *columns = s->loader ? loader_columns(s->loader, &n) : NULL;
    for (uint32_t k = 0; k < n && k < s->ncolumns; k++)
        if (strcmp(columns[k].name, name) == 0) {
            *ret_view = s->columns[k];
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "the batch has no %s now", name);
}

static tutti_status set_column(void *ctx, const char *name, const tutti_tensor *t,
                               tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: tutti run has no batch to replace", name);
}

static double no_elapsed(void *ctx)
{
    return -1.0;
}

static int64_t epoch_batches(void *ctx)
{
    const int64_t n = tutti_loop_get_state(((show *)ctx)->loop)->epoch_length;
    return n == TUTTI_LOOP_NONE ? -1 : n;
}

static const char *no_label(void *ctx)
{
    return NULL;
}

static void write_log(void *ctx, int32_t level, const char *text)
{
    (void)fprintf(level >= TUTTI_LOG_WARNING ? stderr : stdout, "%s\n", text);
}

static void stop(void *ctx, const char *reason)
{
    write_log(ctx, TUTTI_LOG_INFO, reason);
    tutti_loop_terminate(((show *)ctx)->loop, 0);
}

/* ---- numbers ---- */

static void log_metrics(void *ctx, const tutti_named_value *values, uint32_t n)
{
    tutti_error err = TUTTI_ERROR_INIT;
    for (uint32_t k = 0; k < n; k++)
        if (tutti_loop_set_metric(((show *)ctx)->loop, values[k].name, values[k].value, &err))
            write_log(ctx, TUTTI_LOG_WARNING, err.text);
}

static tutti_status get_metric(void *ctx, const char *name, double *ret_value, tutti_error *err)
{
    const show *s = ctx;
    const double value =
        strcmp(name, "output") == 0 ? s->output : tutti_loop_metric(s->loop, name);
    if (isnan(value))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "nothing has been logged as %s", name);
    *ret_value = value;
    return TUTTI_OK;
}

static const char *no_name(void *ctx, uint32_t k)
{
    return NULL;
}

static void no_hyperparameter(void *ctx, const char *name, const char *json)
{
}

/* ---- the loop ---- */

static int64_t get_iteration(void *ctx)
{
    return tutti_loop_get_state(((show *)ctx)->loop)->iteration;
}

static int64_t get_epoch(void *ctx)
{
    return tutti_loop_get_state(((show *)ctx)->loop)->epoch;
}

static void set_output(void *ctx, double value)
{
    ((show *)ctx)->output = value;
}

static double get_output(void *ctx)
{
    return ((show *)ctx)->output;
}

static void terminate(void *ctx, int32_t skip)
{
    tutti_loop_terminate(((show *)ctx)->loop, skip);
}

static void terminate_epoch(void *ctx, int32_t skip)
{
    tutti_loop_terminate_epoch(((show *)ctx)->loop, skip);
}

/* ---- the engine ---- */

static int32_t find(void *ctx, const char *name)
{
    return tutti_loop_find(((show *)ctx)->loop, name);
}

static tutti_status fire(void *ctx, int32_t event, tutti_error *err)
{
    if (event < TUTTI_EVENT_CUSTOM)
        return tutti_fail(err, TUTTI_E_ARG, "only custom events can be fired");
    return tutti_loop_fire(((show *)ctx)->loop, event, err);
}

static const tutti_event *now(void *ctx)
{
    show *s = ctx;
    return s->now.name ? &s->now : NULL;
}

static int64_t *attribute(void *ctx, const char *name)
{
    const tutti_loop_value *v = tutti_loop_get(((show *)ctx)->loop, name);
    return v ? (int64_t *)(uintptr_t)&v->integer : NULL; /* the SDK's way to count */
}

static int32_t has_handler(void *ctx, const char *name)
{
    const binding_list *list = &((show *)ctx)->file->handlers;
    for (size_t k = 0; k < list->count; k++)
        if (list->items[k] && strcmp(binding_name(list->items[k]), name) == 0)
            return 1;
    return 0;
}

static const void *query(void *ctx, const char *id)
{
    show *s = ctx;
    const struct {
        const char *id;
        const void *table;
    } known[] = {{TUTTI_ENGINE_V1, &s->engine},
                 {TUTTI_STATE_V1, &s->state},
                 {TUTTI_METRICS_V1, &s->metrics},
                 {TUTTI_LOG_V1, &s->log},
                 {TUTTI_LOOP_V1, &s->control}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(known[k].id, id) == 0)
            return known[k].table;
    return NULL;
}

/* One handler of the file. */
typedef struct bound_handler {
    show *show;
    binding *binding;
    uint64_t handle;
} bound_handler;

static int32_t remove_handler(void *ctx, const char *name);

static tutti_status hear(tutti_loop *l, const tutti_loop_firing *firing, void *ctx,
                         tutti_error *err)
{
    bound_handler *b = ctx;
    show *s = b->show;
    tutti_error own = TUTTI_ERROR_INIT;
    const tutti_event before = s->now;
    s->now = (tutti_event){.struct_size = (uint32_t)sizeof s->now,
                           .id = firing->event,
                           .name = tutti_loop_event_name(l, firing->event),
                           .step = (uint64_t)tutti_loop_get_state(l)->iteration};
    s->time.batch = tutti_loop_get_state(l)->iteration;
    s->time.epoch = tutti_loop_get_state(l)->epoch;
    tutti_status status =
        binding_call(b->binding, &s->engine, firing->event,
                     firing->count == TUTTI_LOOP_NONE ? NULL : &firing->count, &own);
    const char *event = s->now.name;
    s->now = before;
    if (!status || binding_on_error(b->binding) == ON_ERROR_IGNORE)
        return TUTTI_OK;
    if (binding_on_error(b->binding) == ON_ERROR_DISABLE) {
        (void)tutti_loop_remove(l, b->handle);
        return TUTTI_OK;
    }
    return tutti_fail(err, status, "%s on %s: %s", binding_name(b->binding), event, own.text);
}

static tutti_status process(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                            tutti_error *err)
{
    show *s = ctx;
    s->output = NAN;
    s->file->process.engine = &s->engine;
    const int32_t status = function_call(&s->file->process, 0, err);
    *ret_output = &s->output;
    return status < 0 ? status : TUTTI_OK;
}

/* ---- data ---- */

static int64_t data_length(void *ctx)
{
    return loader_batches(((show *)ctx)->loader);
}

static tutti_status data_restart(void *ctx, tutti_error *err)
{
    show *s = ctx;
    return loader_seek(s->loader, ++s->pass, 0, err);
}

static tutti_status data_seek(void *ctx, int64_t position, tutti_error *err)
{
    show *s = ctx;
    return loader_seek(s->loader, s->pass, position, err);
}

static tutti_status data_next(void *ctx, void **ret_batch, tutti_error *err)
{
    show *s = ctx;
    int64_t samples = 0;
    s->ncolumns = 0;
    const tutti_status status = loader_next(s->loader, s->columns, &s->ncolumns, &samples, err);
    *ret_batch = s->columns;
    return status ? status : samples ? TUTTI_OK : TUTTI_LOOP_END;
}

static const void *no_service(void *ctx, instance *i, const char *id)
{
    return NULL;
}

static tutti_status open_data(show *s, tutti_error *err)
{
    engine_file *e = s->file;
    if (!e->dataset)
        return TUTTI_OK;
    tutti_status status = instance_open(e->dataset, object_describe(e->dataset)->name,
                                        e->dataset_params, no_service, s, &s->dataset, err);
    if (status)
        return status;
    e->dataset_params = NULL;
    s->transforms = calloc(e->ntransforms + 1, sizeof(instance *));
    if (!s->transforms)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for transforms");
    for (size_t k = 0; k < e->ntransforms; k++) {
        status = instance_open(e->transforms[k], object_describe(e->transforms[k])->name,
                               e->transform_params[k], no_service, s, &s->transforms[k], err);
        if (status)
            return status;
        e->transform_params[k] = NULL;
    }
    e->loading.dataset = s->dataset;
    e->loading.transforms = s->transforms;
    e->loading.ntransforms = (uint32_t)e->ntransforms;
    return loader_create(&e->loading, &s->loader, err);
}

/* ---- all of it ---- */

static bound_handler *bound_all; /* the one run's, for remove_handler */

static int32_t remove_handler(void *ctx, const char *name)
{
    show *s = ctx;
    int32_t found = 0;
    for (size_t k = 0; k < s->file->handlers.count; k++)
        if (strcmp(binding_name(bound_all[k].binding), name) == 0)
            found |= tutti_loop_remove(s->loop, bound_all[k].handle);
    return found;
}

static void fill_services(show *s)
{
    s->time.struct_size = (uint32_t)sizeof s->time;
    s->engine = (tutti_engine_v1){(uint32_t)sizeof s->engine,
                                  0,
                                  s,
                                  find,
                                  fire,
                                  now,
                                  attribute,
                                  query,
                                  has_handler,
                                  remove_handler};
    s->state = (tutti_state_v1){.struct_size = (uint32_t)sizeof s->state,
                                .ctx = s,
                                .time = &s->time,
                                .eval_time = &s->time,
                                .max_duration = &s->no_duration,
                                .seed = &s->seed,
                                .elapsed = no_elapsed,
                                .dataloader_len = epoch_batches,
                                .eval_label = no_label,
                                .get = get_column,
                                .set = set_column,
                                .stop_training = stop,
                                .microbatch = &s->microbatch};
    s->metrics = (tutti_metrics_v1){.struct_size = (uint32_t)sizeof s->metrics,
                                    .ctx = s,
                                    .log = log_metrics,
                                    .get = get_metric,
                                    .name_at = no_name,
                                    .hyperparameter = no_hyperparameter};
    s->log = (tutti_log_v1){(uint32_t)sizeof s->log, 0, s, write_log};
    s->control = (tutti_loop_v1){(uint32_t)sizeof s->control,
                                 0,
                                 s,
                                 get_iteration,
                                 get_epoch,
                                 set_output,
                                 get_output,
                                 terminate,
                                 terminate_epoch};
}

static tutti_status open_loop(show *s, tutti_error *err)
{
    const custom_event *customs;
    const size_t ncustoms = registry_events(s->registry, &customs);
    tutti_loop_options options = TUTTI_LOOP_OPTIONS_INIT;
    int32_t number;
    options.process = process;
    options.process_ctx = s;
    options.deterministic = s->file->deterministic;
    tutti_status status = tutti_loop_create(&options, &s->loop, err);
    for (size_t k = 0; k < ncustoms && !status; k++)
        status =
            tutti_loop_register(s->loop, customs[k].name, customs[k].attribute, &number, err);
    if (!status)
        status = handler_load(s->file->process.handler, err);
    for (size_t k = 0; k < s->file->handlers.count && !status; k++) {
        tutti_on on[64];
        bound_handler *b = &bound_all[k];
        size_t n;
        *b = (bound_handler){s, s->file->handlers.items[k], 0};
        const int32_t *events = binding_events(b->binding, &n);
        status = binding_open(b->binding, &s->engine, err);
        for (size_t j = 0; j < n && j < 64; j++) {
            on[j] = (tutti_on)TUTTI_ON_INIT;
            on[j].event = events[j];
        }
        if (!status)
            status = tutti_loop_add(s->loop, on, n < 64 ? n : 64, hear, b, &b->handle, err);
    }
    return status;
}

static int run_show(show *s)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_loop_data data = {s, data_length, data_restart, data_next, data_seek};
    fill_services(s);
    bound_all = calloc(s->file->handlers.count + 1, sizeof *bound_all);
    if (!bound_all || open_data(s, &err) || open_loop(s, &err)) {
        (void)fprintf(stderr, "tutti: %s\n", err.text);
        return CLI_USAGE;
    }
    tutti_loop_catch_sigint(s->loop, 0);
    s->file->run.data = s->loader ? &data : NULL;
    const tutti_loop_state *st = tutti_loop_get_state(s->loop);
    const tutti_status status = tutti_loop_run(s->loop, &s->file->run, &err);
    if (status) {
        (void)fprintf(stderr, "tutti: %s\n", err.text);
        return status == TUTTI_E_INTERRUPTED ? 128 + 2 : CLI_FAILED;
    }
    (void)printf("ran %lld iterations, %lld epochs, %.1f s", (long long)st->iteration,
                 (long long)st->epoch, st->total_seconds);
    if (!isnan(s->output))
        (void)printf(", output %.6g", s->output);
    (void)printf("\n");
    return CLI_OK;
}

static void close_show(show *s)
{
    tutti_loop_destroy(s->loop);
    loader_destroy(s->loader);
    for (size_t k = 0; s->transforms && s->transforms[k]; k++)
        instance_free(s->transforms[k]);
    free(s->transforms);
    instance_free(s->dataset);
    engine_file_free(s->file);
    registry_destroy(s->registry);
    free(bound_all);
}

int cli_run_engine(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords != 1) {
        (void)fputs(usage, stderr);
        return CLI_USAGE;
    }
    show s = {.pass = -1, .output = NAN};
    faults *f = faults_create();
    s.registry = cli_registry(&o);
    if (s.registry && f)
        s.file = engine_file_read(o.words[0], o.sets, s.registry, f);
    for (size_t k = 0; f && k < faults_count(f); k++)
        (void)fprintf(stderr, "%s\n", faults_text(f, k));
    faults_destroy(f);
    status = s.file ? run_show(&s) : CLI_USAGE;
    close_show(&s);
    return status;
}
