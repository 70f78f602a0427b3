/* run_loop.c - an engine file's loop: its process function, limits, and when evaluations run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file.h"

#include <string.h>

const char *const run_loop_keys[] = {"process",
                                     "data",
                                     "max_epochs",
                                     "max_iters",
                                     "epoch_length",
                                     "deterministic",
                                     "name",
                                     "seed",
                                     "model",
                                     "train",
                                     "eval",
                                     "optimizer",
                                     "schedulers",
                                     "algorithms",
                                     "callbacks",
                                     "loggers",
                                     "passes",
                                     "order",
                                     "handlers",
                                     "traces",
                                     "profiler",
                                     "precision",
                                     "recompute",
                                     "device",
                                     "threads",
                                     "watchdog_s",
                                     "microbatch_size",
                                     "on_nonfinite",
                                     "step_schedulers_every_batch",
                                     "load_weights",
                                     NULL};

static const json_node *given(const json_node *root, const char *key)
{
    const json_node *n = json_get(root, key);
    return n && json_type(n) != JSON_NULL ? n : NULL;
}

static int64_t read_count(const json_node *root, const char *key, int64_t least, faults *f)
{
    const json_node *n = given(root, key);
    if (!n)
        return TUTTI_LOOP_NONE;
    if (json_type(n) == JSON_INT && json_int(n) >= least)
        return json_int(n);
    faults_add(f, n, "want a whole number from %lld", (long long)least);
    return TUTTI_LOOP_NONE;
}

/* "supervised", "plugin.function", or {"call": "plugin.function", "args": [...]}. */
static void read_process(run_loop *loop, registry *r, const json_node *root, faults *f)
{
    static const char *const keys[] = {"call", "args", NULL};
    const json_node *at = json_get(root, "process");
    const char *word = at ? json_string(at) : NULL;
    if (word && strcmp(word, "supervised") == 0) {
        loop->supervised = true;
    } else if (word) {
        function_read(r, at, NULL, at, false, &loop->process, f);
    } else if (!at || json_type(at) != JSON_OBJECT) {
        faults_add(f, at ? at : root,
                   "want \"process\": \"supervised\", \"plugin.function\" or {\"call\": "
                   "\"plugin.function\", \"args\": []}");
    } else {
        faults_unknown_keys(f, at, keys);
        function_read(r, json_get(at, "call"), json_get(at, "args"), at, false, &loop->process,
                      f);
    }
}

/* What goes only with something else. */
static void check_company(const run_loop *loop, const json_node *root, faults *f)
{
    static const char *const of_models[] = {"eval",       "optimizer",    "schedulers",
                                            "algorithms", "load_weights", "microbatch_size",
                                            NULL};
    const json_node *model = json_get(root, "model");
    const json_node *train = json_get(root, "train"), *data = given(root, "data");
    if (loop->supervised && !model)
        faults_add(f, root, "has no model, which a supervised process trains");
    if (model && !train && !data)
        faults_add(f, root, "has no train data, whose columns the model is built for");
    for (size_t k = 0; !model && of_models[k]; k++)
        if (json_get(root, of_models[k]))
            faults_add(f, json_get(root, of_models[k]), "wants a model, which is missing");
    if (train && data)
        faults_add(f, data, "train is given as well");
    if (!model && !train && !data && loop->args.epoch_length == TUTTI_LOOP_NONE)
        faults_add(f, root, "without data epoch_length must be given");
    if (given(root, "max_epochs") && given(root, "max_iters"))
        faults_add(f, json_get(root, "max_iters"), "max_epochs is given as well");
}

/* Ignite's filters count the iteration, the epoch, or a custom event's attribute. */
static bool counts(const registry *r, int32_t event)
{
    const custom_event *customs;
    const size_t n = registry_events(r, &customs);
    switch (event) {
    case TUTTI_EVENT_DATALOADER_STOP_ITERATION:
    case TUTTI_EVENT_TERMINATE:
    case TUTTI_EVENT_TERMINATE_SINGLE_EPOCH:
    case TUTTI_EVENT_INTERRUPT:
    case TUTTI_EVENT_EXCEPTION_RAISED:
        return false;
    default:
        break;
    }
    const int32_t own = event - TUTTI_EVENT_CUSTOM;
    return own < 0 || ((size_t)own < n && customs[own].attribute);
}

static const char *name_of(const registry *r, int32_t event)
{
    const custom_event *customs;
    const size_t n = registry_events(r, &customs);
    const int32_t own = event - TUTTI_EVENT_CUSTOM;
    return own >= 0 && (size_t)own < n ? customs[own].name : event_name(event);
}

static void check_filters(const binding *b, registry *r, const json_node *at, faults *f)
{
    int32_t event;
    for (size_t k = 0; b && (event = binding_filtered(b, k)) >= 0; k++)
        if (!counts(r, event))
            faults_add(f, at, "has a filter on %s, which counts nothing", name_of(r, event));
}

static void check_handlers(const run_file *run, registry *r, const json_node *root, faults *f)
{
    const json_node *list = json_get(root, "handlers");
    for (size_t k = 0; k < run->handlers.count; k++) {
        const binding *b = run->handlers.items[k];
        size_t n = 0;
        const int32_t *events = b ? binding_events(b, &n) : NULL;
        check_filters(b, r, json_at(list, k), f);
        for (size_t j = 0; j < n && !json_get(root, "model"); j++)
            if (events[j] < TUTTI_IGNITE_FIRST)
                faults_add(f, json_at(list, k),
                           "hears %s, which needs a model; the loop's are started, "
                           "epoch_started, iteration_completed and so on",
                           name_of(r, events[j]));
    }
}

/* What schedules are measured by. */
static tutti_time planned(const tutti_loop_run_args *a)
{
    const int64_t epochs = a->max_epochs == TUTTI_LOOP_NONE ? 1 : a->max_epochs;
    int64_t batches;
    if (a->max_iters != TUTTI_LOOP_NONE)
        return (tutti_time){a->max_iters, 0.0, TUTTI_UNIT_BATCH, 0};
    if (a->epoch_length != TUTTI_LOOP_NONE &&
        !__builtin_mul_overflow(epochs, a->epoch_length, &batches))
        return (tutti_time){batches, 0.0, TUTTI_UNIT_BATCH, 0};
    return (tutti_time){epochs, 0.0, TUTTI_UNIT_EPOCH, 0};
}

void run_loop_read(run_file *run, registry *r, const json_node *root, faults *f)
{
    run_loop *loop = &run->loop;
    const json_node *deterministic = json_get(root, "deterministic");
    loop->args = (tutti_loop_run_args)TUTTI_LOOP_RUN_INIT;
    read_process(loop, r, root, f);
    loop->args.max_epochs = read_count(root, "max_epochs", 1, f);
    loop->args.max_iters = read_count(root, "max_iters", 1, f);
    loop->args.epoch_length = read_count(root, "epoch_length", 1, f);
    if (given(root, "seed"))
        loop->args.seed = (int64_t)run->seed;
    if (deterministic && json_type(deterministic) != JSON_BOOL)
        faults_add(f, deterministic, "is %s, want true or false",
                   json_type_name(deterministic));
    loop->deterministic = json_bool(deterministic);
    run->max_duration = planned(&loop->args);
    check_company(loop, root, f);
    check_handlers(run, r, root, f);
}

void run_loop_read_on(run_data *eval, registry *r, const json_node *at, faults *f)
{
    eval->on = binding_read_own(r, at, TUTTI_EVENT_EPOCH_COMPLETED, f);
    check_filters(eval->on, r, at, f);
}

void run_loop_free(run_file *run)
{
    function_fini(&run->loop.process);
}
