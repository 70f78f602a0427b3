/* profile.c - tutti profile: some batches of a run, measured: by operation, by event, by plugin; memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/machine_bound.h"
#include "cli/profile_json.h"
#include "graph/runtime/host_memory.h"
#include "train/trainer/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNMEASURED = 2, BATCHES = 8, MOST_BATCHES = 1000000 };

/* The run becomes a short one, with a profiler, that keeps nothing but the trace. */
static void shorten(run_file *run, int64_t batches)
{
    static char name[256];
    (void)snprintf(name, sizeof name, "%.240s-profile", run->name);
    run->name = name;
    run_file_keep_nothing(run);
    run->length.max_duration =
        (tutti_time){.count = UNMEASURED + batches, .unit = TUTTI_UNIT_BATCH};
    run->observers.profiled = true;
    run->observers.profiler = (profiler_options){
        .schedule = {.skip_first = UNMEASURED - 1, .warmup = 1, .active = batches, .repeat = 1},
        .folder = "traces",
        .filename = "ep{epoch}-ba{batch}-rank{rank}.json",
        .merged_trace_filename = "merged_trace.json",
        .num_traces_to_keep = 0,
        .overwrite = true,
        .sys_prof_cpu = true,
        .sys_prof_memory = true};
}

static bool read_batches(const char *text, int64_t *ret_batches)
{
    char *end = NULL;
    *ret_batches = text ? strtoll(text, &end, 10) : BATCHES;
    if (!text || (end != text && !*end && *ret_batches >= 1 && *ret_batches <= MOST_BATCHES))
        return true;
    (void)fprintf(stderr, "tutti: --batches %s, want a number from 1 to %d\n", text,
                  MOST_BATCHES);
    return false;
}

/* ---- tables ---- */

static int by_time(const void *a, const void *b)
{
    const step_row *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->name, y->name);
}

/* The least time that the machine needs for it, as a share of what it took. */
static double share_of_bound(const step_row *r, const machine_bound *m)
{
    const double products = r->flops / m->flops, lines = r->bytes / m->bytes;
    return r->ns > 0 ? 100.0 * (products > lines ? products : lines) / ((double)r->ns * 1e-9)
                     : 0.0;
}

static void print_row(const char *name, const step_row *r, double batches, double batch_ns,
                      const machine_bound *m)
{
    (void)printf("%-36.36s %8.1f %10.3f %6.1f %% %9.4g %9.4g", name, (double)r->count / batches,
                 (double)r->ns * 1e-6 / batches, 100.0 * (double)r->ns / batch_ns,
                 r->flops * 1e-9 / batches, r->bytes * 1e-9 / batches);
    if (m)
        (void)printf(" %5.0f %% %s", share_of_bound(r, m),
                     r->flops / m->flops > r->bytes / m->bytes ? "products" : "memory");
    (void)printf("\n");
}

/* What operations took; the rows are copied and sorted.  False: no memory. */
static bool print_steps(const step_profile *s, double batches, double batch_ns,
                        const machine_bound *m)
{
    step_row all = {.count = 0};
    step_row *rows = malloc((s->nrows + 1) * sizeof *rows);
    if (!rows || s->lost) {
        free(rows);
        return false;
    }
    if (s->nrows)
        memcpy(rows, s->rows, s->nrows * sizeof *rows);
    qsort(rows, s->nrows, sizeof *rows, by_time);
    (void)printf("\n%-36s %8s %10s %8s %9s %9s %s\n", "operation", "a batch", "ms", "of time",
                 "GFLOP", "GB", "  of the bound");
    for (size_t k = 0; k < s->nrows; k++) {
        print_row(rows[k].name, &rows[k], batches, batch_ns, m);
        all.count += rows[k].count;
        all.ns += rows[k].ns;
        all.flops += rows[k].flops;
        all.bytes += rows[k].bytes;
    }
    print_row("all operations", &all, batches, batch_ns, NULL);
    free(rows);
    return true;
}

/* "algorithm/mixup/event/before_forward" -> "mixup at before_forward". */
static void name_total(const char *name, char *text, size_t size)
{
    const char *who = strchr(name, '/'), *event = strstr(name, "/event/");
    if (who && event && event > who)
        (void)snprintf(text, size, "%.*s at %s", (int)(event - who - 1), who + 1,
                       event + strlen("/event/"));
    else
        (void)snprintf(text, size, "%s", who ? who + 1 : name);
}

/* The totals whose names begin with one of `kinds`, under `header` if there are any. */
static void print_totals(const profiler *p, const char *header, const char *const *kinds,
                         double batches, double batch_ns)
{
    profiler_total t;
    bool any = false;
    for (const char *const *kind = kinds; *kind; kind++)
        for (uint32_t k = 0; profiler_total_at(p, k, &t); k++) {
            char text[160];
            if (!t.count || strncmp(t.name, *kind, strlen(*kind)) != 0)
                continue;
            if (!any)
                (void)printf("\n%-36s %8s %10s %8s %9s\n", header, "a batch", "ms", "of time",
                             "ms alone");
            any = true;
            name_total(t.name, text, sizeof text);
            (void)printf("%-36.36s %8.1f %10.3f %6.1f %% %9.3f\n", text,
                         (double)t.count / batches, (double)t.ns * 1e-6 / batches,
                         100.0 * (double)t.ns / batch_ns, (double)t.own_ns * 1e-6 / batches);
        }
}

/* Measured batches and their time; false: there were none. */
static bool find_batches(const profiler *p, double *ret_batches, double *ret_ns)
{
    profiler_total t;
    for (uint32_t k = 0; profiler_total_at(p, k, &t); k++)
        if (strcmp(t.name, "event/batch") == 0 && t.count) {
            *ret_batches = (double)t.count;
            *ret_ns = (double)t.ns;
            return true;
        }
    return false;
}

static tutti_status report(const trainer *t, const run_file *run, const tutti_op *const *ops,
                           bool json, tutti_error *err)
{
    static const char *const events[] = {"event/", NULL};
    static const char *const plugins[] = {"algorithm/", "callback/", "handler/",
                                          "pass/",      "update/",   NULL};
    const profiler *p = trainer_profiler(t);
    const step_profile *s = trainer_steps(t);
    const int threads = trainer_threads(t);
    double batches = 0.0, ns = 0.0;
    machine_bound m = {0.0, 0.0};
    char text[32];
    if (!find_batches(p, &batches, &ns))
        return tutti_fail(
            err, TUTTI_E_STATE,
            "no batch was measured: fewer than %d batches of an epoch ran; it is shorter, "
            "or a plugin has stopped the run",
            UNMEASURED + 1);
    if (json)
        return profile_print_json(t, batches, ns, err);
    const int32_t dtype =
        strcmp(run->numerics.precision, "amp_bf16") == 0 ? TUTTI_BF16 : TUTTI_F32;
    if (s && machine_measure(ops, dtype, threads, &m, err))
        return err->status;
    (void)printf("%.0f batches, %.3f ms each, %d thread%s\n", batches, ns * 1e-6 / batches,
                 threads, threads == 1 ? "" : "s");
    if (s)
        (void)printf("bound: %.1f GFLOP/s (product of %d x %d x %d, %s), %.1f GB/s (triad), "
                     "measured now\n",
                     m.flops * 1e-9, MACHINE_PRODUCT, MACHINE_PRODUCT, MACHINE_PRODUCT,
                     tutti_dtype_name(dtype), m.bytes * 1e-9);
    if (s && !print_steps(s, batches, ns, &m))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the table of operations");
    print_totals(p, "event", events, batches, ns);
    print_totals(p, "plugin", plugins, batches, ns);
    if (s && s->peak)
        (void)printf("\nmemory: a plan's results take %s at most at a time, at %s%s%s\n",
                     bytes_text(s->peak, text, sizeof text), s->peak_name,
                     *s->peak_scope ? " of " : "", s->peak_scope);
    char *path = profiler_merged_path(p);
    if (!path)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the path of the trace");
    (void)printf("%strace: %s, for ui.perfetto.dev or chrome://tracing\n",
                 s && s->peak ? "" : "\n", path);
    free(path);
    return TUTTI_OK;
}

/* ---- the command ---- */

static tutti_status measure(trainer *t, const run_file *run, const tutti_op *const *ops,
                            bool json, tutti_error *err)
{
    const fit_options options = {.resume = NULL};
    tutti_error why = TUTTI_ERROR_INIT;
    if (trainer_profile_steps(t, &why))
        (void)fprintf(stderr, "tutti: %s\n", why.text);
    const tutti_status s = trainer_fit(t, &options, err);
    return s || run->distributed.rank ? s : report(t, run, ops, json, err); /* rank 0 speaks */
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    int64_t batches = 0;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = read_batches(o->length.batches, &batches) ? cli_ranked_registry(o) : NULL;
    if (!r || !(run = cli_ranked_file(o, RUN_FILE_TRAIN, r)) || !cli_may_train(run))
        goto end;
    shorten(run, batches);
    trainer_catch_signals(run->checkpoints.signals);
    status = CLI_FAILED;
    if (!trainer_create(run, r, ops, &t, &e)) {
        trainer_on_message(t, cli_message, run, false);
        if (!measure(t, run, ops, o->json, &e))
            status = CLI_OK;
    }
    if (status != CLI_OK)
        cli_print_failure(run, e.text);

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_profile = {
    .name = "profile",
    .args = "[RUN.json]",
    .kind = CLI_VALUE_RUN,
    .summary = "measure where the time of some batches of a run goes",
    .doc =
        "Trains RUN.json, a file or a recipe's name, for some batches from fresh weights and "
        "prints what they took: by operation, with its FLOPs and bytes, and the least time "
        "that "
        "this machine needs for these as a share of the time; by event; by plugin at each "
        "event; "
        "and how much of a plan's memory is in use at most.  All of it is on the time line "
        "that is written to "
        "runs/NAME-profile/traces.  Loggers, callbacks that save and traces of the run "
        "file are left out.  Events are heard one by one, so steps that a run merges are apart "
        "here; operations are measured on CPUs alone.  With --json the same, but for the "
        "bound, for "
        "programs.",
    .more = "\"ms alone\" is time in no event or plugin or operation within.\n"
            "\"GB\" is what operations read and twice what they write: memory is fetched "
            "before it is written.\n"
            "Exit status: 0 measured, 1 the run failed, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_BATCHES | CLI_TAKES_JSON,
    .least = 0,
    .most = 1,
    .run = run,
};
