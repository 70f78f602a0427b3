/* run_loop.c - an engine file's loop: its process function, limits, and when evaluations run. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run_file/run_reader.h"

#include <string.h>

const json_member run_loop_rows[] = {
    {.name = "process"},
    {.name = "data"},
    {.name = "max_epochs",
     .type = MEMBER_INT,
     .flags = MEMBER_NULLABLE,
     .min = 1,
     .max = INT64_MAX,
     MEMBER_AT(run_file, loop.args.max_epochs)},
    {.name = "max_iters",
     .type = MEMBER_INT,
     .flags = MEMBER_NULLABLE,
     .min = 1,
     .max = INT64_MAX,
     MEMBER_AT(run_file, loop.args.max_iters)},
    {.name = "epoch_length",
     .type = MEMBER_INT,
     .flags = MEMBER_NULLABLE,
     .min = 1,
     .max = INT64_MAX,
     MEMBER_AT(run_file, loop.args.epoch_length)},
    {.name = "deterministic", .type = MEMBER_BOOL, MEMBER_AT(run_file, loop.deterministic)},
    {.name = "seed",
     .type = MEMBER_INT,
     .flags = MEMBER_NULLABLE,
     .max = INT64_MAX,
     MEMBER_AT(run_file, seed)},
    {.name = "model"},
    {.name = "train"},
    {.name = "optimizer"},
    {.name = NULL},
};

static const json_node *given(const json_node *root, const char *key)
{
    const json_node *n = json_get(root, key);
    return n && json_type(n) != JSON_NULL ? n : NULL;
}

/* "supervised", "plugin.function", or {"call": "plugin.function", "args": [...]}. */
static void read_process(run_loop *loop, registry *r, const json_node *root, faults *f)
{
    static const json_member *const tables[] = {function_rows, NULL};
    const json_node *at = json_get(root, "process");
    const char *word = at ? json_string(at) : NULL;
    if (word && strcmp(word, "supervised") == 0) {
        loop->supervised = true;
    } else if (word) {
        function_read(r, at, false, &loop->process, f);
    } else if (!at || json_type(at) != JSON_OBJECT) {
        faults_add(f, at ? at : root,
                   "want \"process\": \"supervised\", \"plugin.function\" or {\"call\": "
                   "\"plugin.function\", \"args\": []}");
    } else {
        json_members_known(at, tables, f);
        function_read(r, at, false, &loop->process, f);
    }
}

/* What goes only with something else. */
static void check_company(const run_loop *loop, const json_node *root, faults *f)
{
    static const char *const of_models[] = {
        "eval",       "loss",         "optimizer",       "schedulers",
        "algorithms", "load_weights", "microbatch_size", NULL};
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
    for (size_t k = 0; k < run->observers.handlers.count; k++) {
        const binding *b = run->observers.handlers.items[k];
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

void run_read_loop(run_reader *r, const json_node *root)
{
    run_file *run = r->run;
    run_loop *loop = &run->loop;
    read_process(loop, r->registry, root, r->faults);
    if (given(root, "seed"))
        loop->args.seed = (int64_t)run->seed;
    run->length.max_duration = planned(&loop->args);
    check_company(loop, root, r->faults);
    check_handlers(run, r->registry, root, r->faults);
}

void run_read_on(run_reader *r, const json_node *at, run_data *eval)
{
    eval->on = binding_read_own(r->registry, at, TUTTI_EVENT_EPOCH_COMPLETED, r->faults);
    check_filters(eval->on, r->registry, at, r->faults);
}

void run_loop_fini(run_file *run)
{
    function_fini(&run->loop.process);
}
