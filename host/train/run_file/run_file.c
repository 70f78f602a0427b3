/* run_file.c - reading a run file: every fault at once, each with its line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fetch/fetch.h"
#include "train/run_file/run_published.h"
#include "train/run_file/run_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_LIMIT = 4 << 20, MAX_MICROBATCH = 1 << 24, DEFAULT_SEED = 17 };

static const char *const precisions[] = {"fp32", "amp_bf16", "amp_fp16", "fp32_fast", NULL};
static const char *const recomputes[] = {"off", "cheap", "full", NULL};
static const char *const orders[] = {"absolute", "upstream", NULL};
static const char *const microbatch_words[] = {"auto", NULL};
static const char *const nonfinites[] = {[RUN_NONFINITE_STOP] = "stop",
                                         [RUN_NONFINITE_WARN] = "warn",
                                         [RUN_NONFINITE_IGNORE] = "ignore",
                                         NULL};

/* Keys that training runs and engine files share. */
static const json_member shared_rows[] = {
    {.name = "name", .type = MEMBER_STRING, MEMBER_AT(run_file, name)},
    {.name = "loss"},
    {.name = "eval"},
    {.name = "schedulers"},
    {.name = "algorithms"},
    {.name = "callbacks"},
    {.name = "loggers"},
    {.name = "passes"},
    {.name = "order",
     .type = MEMBER_CHOICE,
     .words = orders,
     MEMBER_AT(run_file, participants.upstream_order)},
    {.name = "handlers"},
    {.name = "traces"},
    {.name = "profiler"},
    {.name = "precision",
     .type = MEMBER_WORD,
     .words = precisions,
     MEMBER_AT(run_file, numerics.precision)},
    {.name = "recompute",
     .type = MEMBER_WORD,
     .words = recomputes,
     MEMBER_AT(run_file, recompute)},
    {.name = "on_nonfinite",
     .type = MEMBER_CHOICE,
     .words = nonfinites,
     MEMBER_AT(run_file, numerics.on_nonfinite)},
    {.name = "device"},
    {.name = "threads",
     .type = MEMBER_INT,
     .max = RUN_MOST_THREADS,
     MEMBER_AT(run_file, threads)},
    {.name = "watchdog_s",
     .type = MEMBER_REAL,
     .max = 1000000,
     .want = "a number of seconds from 0 to 1000000",
     MEMBER_AT(run_file, watchdog_s)},
    {.name = "microbatch_size",
     .type = MEMBER_INT,
     .max = MAX_MICROBATCH,
     .words = microbatch_words,
     MEMBER_AT(run_file, microbatch_size)},
    {.name = "step_schedulers_every_batch",
     .type = MEMBER_BOOL,
     MEMBER_AT(run_file, schedules.every_batch)},
    {.name = "distributed"},
    {.name = "load_weights", .type = MEMBER_STRING},
    {.name = "load_strict", .type = MEMBER_BOOL, MEMBER_AT(run_file, checkpoints.strict)},
    {.name = "load_ignore_keys"},
    {.name = "load_exclude_algorithms"},
    {.name = "save_on"},
    {.name = NULL},
};

static void set_defaults(run_file *run)
{
    run->name = "run";
    run->seed = DEFAULT_SEED;
    run->length.scale_schedule_ratio = 1.0;
    run->schedules.every_batch = true;
    run->watchdog_s = 300.0;
    run->checkpoints.strict = true;
    run->checkpoints.signals = RUN_SAVES_ON_USR1;
    run->numerics.precision = precisions[0];
    run->recompute = recomputes[1];
    run->loop.args = (tutti_loop_run_args)TUTTI_LOOP_RUN_INIT;
}

/* All objects that the file names; an engine file may do without model, data and optimizer. */
static void read_objects(run_reader *r, const json_node *root)
{
    run_file *run = r->run;
    const json_node *model = json_get(root, "model");
    const json_node *loss = json_get(root, "loss");
    if (model)
        run_read_part(r, model, TUTTI_KIND_MODEL, NULL, &run->model);
    if (loss)
        run_read_name_or_part(r, loss, TUTTI_KIND_LOSS, &run->loss);
    run_read_data(r, root);
    if (run->engine && model && !json_get(root, "optimizer"))
        faults_add(r->faults, root, "optimizer is missing, want one for the model");
    run_read_optimizer(r, root);
    run_read_parts(r, root, "schedulers", TUTTI_KIND_SCHEDULER, &run->schedules.schedulers);
    run_read_algorithms(r, root);
    run_read_parts(r, root, "callbacks", TUTTI_KIND_CALLBACK, &run->participants.callbacks);
    run_read_parts(r, root, "loggers", TUTTI_KIND_LOGGER, &run->participants.loggers);
    run_read_parts(r, root, "passes", TUTTI_KIND_PASS, &run->participants.passes);
    run_read_observers(r, root);
    run_check_conflicts(r, root);
    run_check_width(r, root);
}

/* Sets run->engine.  False, with a fault, for an engine file where a training run or a model is wanted. */
static bool judge_kind(run_reader *r, int kind, const json_node *root)
{
    const json_node *process = json_get(root, "process");
    r->run->engine = kind == RUN_FILE_ENGINE || (kind != RUN_FILE_TRAIN && process);
    if (r->run->engine && kind == RUN_FILE_MODEL && !json_get(root, "model")) {
        faults_add(r->faults, root, "model is missing: this engine file has none");
        return false;
    }
    if (!process || r->run->engine)
        return true;
    faults_add(r->faults, process, "makes this an engine file, which `tutti run` runs");
    return false;
}

static void read_run(run_reader *r, int kind)
{
    run_file *run = r->run;
    const json_node *root = json_root(run->source.doc);
    set_defaults(run);
    if (!json_want(root, JSON_OBJECT, "an object", r->faults) || !judge_kind(r, kind, root))
        return;
    const json_member *const own = run->engine ? run_loop_rows : run_training_rows;
    const json_member *const tables[] = {shared_rows, own, NULL};
    json_members_known(root, tables, r->faults);
    json_members_read(root, shared_rows, run, r->faults);
    json_members_read(root, own, run, r->faults);
    if (strchr(run->name, '/'))
        faults_add(r->faults, json_get(root, "name"), "has a slash; it names a folder");
    read_objects(r, root);
    if (run->engine)
        run_read_loop(r, root);
    else
        run_check_duration(r, root);
    run_read_device(r, root);
    run_read_distributed(r, root);
    run_read_checkpoints(r, root);
}

static void apply_overrides(json_doc *doc, const char *const *overrides, faults *f)
{
    for (size_t k = 0; overrides && overrides[k]; k++) {
        char path[256];
        const char *equals = strchr(overrides[k], '=');
        tutti_error e = TUTTI_ERROR_INIT;
        if (!equals || equals == overrides[k] || equals - overrides[k] >= (int)sizeof path) {
            faults_add(f, NULL, "--set %s: want path=value", overrides[k]);
            continue;
        }
        (void)snprintf(path, sizeof path, "%.*s", (int)(equals - overrides[k]), overrides[k]);
        if (json_override(doc, path, equals + 1, &e))
            faults_add(f, NULL, "--set %s: %s", overrides[k], e.text);
    }
}

/* A training run that its file does not name gets a name; several processes must agree on theirs, so that theirs
 * stands in the file. */
static void name_run(json_doc *doc, int kind, faults *f)
{
    const json_node *root = json_root(doc);
    char name[RUN_NAME_SIZE];
    tutti_error e = TUTTI_ERROR_INIT;
    if (json_type(root) != JSON_OBJECT || json_get(root, "name") || json_get(root, "process"))
        return;
    if (kind & RUN_FILE_NAMED)
        faults_add(f, root, "name is missing, want one: auto looks for the run of that name");
    else if (!json_get(root, "distributed") &&
             json_override(doc, "name", run_name_generate(name), &e))
        faults_add(f, root, "%s", e.text);
}

/* Takes `doc`. */
static tutti_status read_doc(json_doc *doc, int kind, const char *folder,
                             const char *const *overrides, registry *r, run_file **ret_run,
                             faults *f)
{
    run_file *run = calloc(1, sizeof *run);
    if (!run) {
        json_free(doc);
        faults_add_no_memory(f, NULL);
        return TUTTI_E_NOMEM;
    }
    run->source.doc = doc;
    run->source.folder = strdup(folder);
    apply_overrides(doc, overrides, f);
    if (kind & RUN_FILE_NAMES)
        name_run(doc, kind, f);
    published_settings(doc, r, folder, f);
    run_reader all = {r, folder, f, run};
    read_run(&all, kind & RUN_FILE_KINDS);
    run->text = json_text(json_root(doc));
    if (!run->text || !run->source.folder)
        faults_add_no_memory(f, NULL);
    if (faults_count(f)) {
        run_file_free(run);
        return TUTTI_E_ARG;
    }
    *ret_run = run;
    return TUTTI_OK;
}

tutti_status run_file_parse(const char *name, const char *text, const char *folder, int kind,
                            const char *const *overrides, registry *r, run_file **ret_run,
                            faults *f)
{
    json_doc *doc;
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = json_parse(name, text, strlen(text), &doc, &e);
    if (s) {
        faults_add(f, NULL, "%s", e.text);
        return s;
    }
    return read_doc(doc, kind, folder, overrides, r, ret_run, f);
}

tutti_status run_file_read(const char *path, const char *folder, int kind,
                           const char *const *overrides, registry *r, run_file **ret_run,
                           faults *f)
{
    json_doc *doc;
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = json_read(path, RUN_LIMIT, &doc, &e);
    if (s) {
        faults_add(f, NULL, "%s", e.text);
        return s;
    }
    char own[PATH_MAX];
    if (!realpath(path, own))
        (void)snprintf(own, sizeof own, ".");
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    if (!folder)
        folder = *own ? own : "/";
    return read_doc(doc, kind | RUN_FILE_NAMES, folder, overrides, r, ret_run, f);
}

static tutti_status read_ranks(run_file *run, const char *const *overrides, registry *r,
                               faults *f)
{
    run_reader all = {r, "/", f, run};
    const json_node *root = json_root(run->source.doc);
    set_defaults(run);
    apply_overrides(run->source.doc, overrides, f);
    const json_node *name = json_get(root, "name");
    if (name && json_type(name) == JSON_STRING)
        run->name = json_string(name);
    run_read_distributed(&all, root);
    return run->distributed.comm.object && run->distributed.comm.params ? TUTTI_OK
                                                                        : TUTTI_E_NOTFOUND;
}

tutti_status run_file_ranks(const char *path, const char *text, const char *const *overrides,
                            registry *r, run_file **ret_run)
{
    faults *f = faults_create();
    run_file *run = calloc(1, sizeof *run);
    tutti_status s = TUTTI_E_NOMEM;
    if (f && run)
        s = text ? json_parse(path, text, strlen(text), &run->source.doc, NULL)
                 : json_read(path, RUN_LIMIT, &run->source.doc, NULL);
    if (!s)
        s = read_ranks(run, overrides, r, f);
    faults_destroy(f);
    if (s)
        run_file_free(run);
    else
        *ret_run = run;
    return s;
}

void run_file_free(run_file *run)
{
    if (!run)
        return;
    run_part_fini(&run->model);
    run_part_fini(&run->loss);
    run_part_fini(&run->device.part);
    run_part_fini(&run->distributed.comm);
    run_part_fini(&run->distributed.device_comm);
    run_data_fini(run);
    run_optimizer_fini(run);
    run_parts_fini(&run->schedules.schedulers);
    run_parts_fini(&run->participants.algorithms);
    run_parts_fini(&run->participants.callbacks);
    run_parts_fini(&run->participants.loggers);
    run_parts_fini(&run->participants.passes);
    run_observers_fini(run);
    run_loop_fini(run);
    run_checkpoints_fini(&run->checkpoints);
    fetched_free(run->source.fetched);
    free(run->text);
    free(run->source.folder);
    json_free(run->source.doc);
    free(run);
}
