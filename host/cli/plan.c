/* plan.c - tutti plan: what a training step computes, step by step, and where its memory lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "train/trainer/step_costs.h"

#include <stdio.h>

/* Numbers out of --world and --link. */
static bool read_world(const cli_options *o, int32_t *ret_ranks, preview_link *ret_link)
{
    int end = 0, together_end = 0;
    const char *world = o->preview.world, *link = o->preview.link ? o->preview.link : "10:30";
    ret_link->together = 1;
    const int read =
        sscanf(world, "%d%n:%d%n", ret_ranks, &end, &ret_link->together, &together_end);
    if (read < 1 || world[read == 2 ? together_end : end] || *ret_ranks < 1 ||
        *ret_ranks > 4096 || ret_link->together < 1) {
        (void)fprintf(stderr,
                      "tutti: --world %s, want a number of processes from 1 to 4096, and "
                      "behind a colon how many share a machine, such as 64:8\n",
                      world);
        return false;
    }
    if (sscanf(link, "%lf:%lf%n", &ret_link->gigabits, &ret_link->latency_us, &end) != 2 ||
        link[end] || !(ret_link->gigabits > 0) || !(ret_link->latency_us >= 0)) {
        (void)fprintf(stderr, "tutti: --link %s, want Gbit/s and microseconds such as 10:30\n",
                      link);
        return false;
    }
    return true;
}

static tutti_status preview(trainer *t, const cli_options *o, int32_t ranks,
                            const preview_link *link, tutti_error *err)
{
    return o->preview.world ? trainer_preview_world(t, stdout, ranks, link, err)
                            : trainer_preview(t, stdout,
                                              o->preview.dot       ? PREVIEW_DRAWING
                                              : o->preview.traffic ? PREVIEW_TRAFFIC
                                                                   : PREVIEW_TEXT,
                                              err);
}

/* Times the run's step by the kernels of a mode of "deterministic". */
static tutti_status time_step(const cli_options *o, registry *r, const tutti_op *const *ops,
                              int mode, step_costs *ret)
{
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    run_file *run = cli_run_file(o, RUN_FILE_MODEL, r);
    if (!run)
        return TUTTI_E_STATE;
    run->numerics.deterministic = mode;
    tutti_status s = trainer_create(run, r, ops, &t, &e);
    if (!s) {
        trainer_on_message(t, cli_message, run, false);
        s = trainer_measure_step(t, ret, &e);
    }
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    trainer_destroy(t);
    run_file_free(run);
    return s;
}

static tutti_status tell_costs(const cli_options *o, registry *r, const tutti_op *const *ops)
{
    step_costs anywhere = {.rows = NULL}, fastest = {.rows = NULL};
    tutti_status s = time_step(o, r, ops, RUN_REPEATS_ANYWHERE, &anywhere);
    if (!s)
        s = time_step(o, r, ops, RUN_REPEATS_RUN, &fastest);
    if (!s)
        step_costs_compare(&anywhere, &fastest, stdout);
    step_costs_fini(&anywhere);
    step_costs_fini(&fastest);
    return s;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    preview_link link = {.together = 1};
    int32_t ranks = 1;
    if (o->preview.world && !read_world(o, &ranks, &link))
        return status;
    registry *r = cli_registry(o);
    if (!r || !(run = cli_run_file(o, RUN_FILE_MODEL, r)))
        goto end;
    if (!trainer_create(run, r, ops, &t, &e))
        trainer_on_message(t, cli_message, run, false);
    if (!e.status && !preview(t, o, ranks, &link, &e)) {
        trainer_destroy(t);
        t = NULL;
        const bool costs = run->numerics.deterministic == RUN_REPEATS_ANYWHERE &&
                           !o->preview.world && !o->preview.dot && !o->preview.traffic;
        if (!costs || !tell_costs(o, r, ops))
            status = CLI_OK;
    }
    if (e.status)
        (void)fprintf(stderr, "tutti: %s\n", e.text);

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_plan = {
    .name = "plan",
    .args = "[RUN.json]",
    .kind = CLI_VALUE_RUN,
    .summary = "print what a training step computes and where its memory lies",
    .doc =
        "Prints the plan of one training step of the run, without training, with what "
        "algorithms "
        "change of the model before the first batch: its sizes; what is "
        "computed again to save memory; every node with shape, operation, attributes, module; "
        "the steps in their order with the places they read and write, groups of elementwise "
        "nodes as one and with the algorithm of those that have several; and the map of the "
        "arena.  With \"deterministic\": \"anywhere\" also what its kernels cost: each kind of "
        "operation is timed here, by them and by those that \"run\" would choose.  With "
        "--world what a step over so many processes would take: memory and bytes "
        "by formula, time by a model from what a slot, an update and sums take here.",
    .more = "Exit status: 0 printed, 1 the step cannot be planned, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_DRAWING,
    .least = 0,
    .most = 1,
    .run = run,
};
