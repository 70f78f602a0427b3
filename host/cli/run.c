/* run.c - tutti run: an engine file, Ignite's loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"
#include "cli/cli.h"
#include "train/context/run_log.h"
#include "train/trainer/describe.h"
#include "tutti/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A line of one call: those of several ranks may share a terminal. */
static void print_words(const run_file *run, const char *text)
{
    if (run->distributed.rank != 0)
        (void)printf("[rank %d] %s\n", run->distributed.rank, text);
    else
        (void)printf("%s\n", text);
}

/* What functions say is the command's output; what is wrong goes to stderr. */
static void message(void *ctx, int level, const char *component, const char *text)
{
    if (level >= TUTTI_LOG_WARNING)
        cli_message(ctx, level, component, text);
    else if (level == TUTTI_LOG_INFO && strcmp(component, RUN_LOG_FUNCTIONS) == 0)
        print_words(ctx, text);
}

static void message_verbose(void *ctx, int level, const char *component, const char *text)
{
    if (strcmp(component, RUN_LOG_FUNCTIONS) == 0)
        message(ctx, level, component, text);
    else
        cli_message(ctx, level, component, text);
}

static void print_results(const loop_run *l, const trainer *t, const run_file *run)
{
    const tutti_loop_state *st = loop_run_state(l);
    const double output = loop_run_output(l);
    if (loop_run_interrupted(l))
        (void)printf("interrupted; ");
    (void)printf("ran %lld iterations, %lld epochs, %.1f s", (long long)st->iteration,
                 (long long)st->epoch, st->total_seconds);
    if (!isnan(output))
        (void)printf(", output %.6g", output);
    (void)printf("\n");
    cli_print_metrics(t, run);
}

static int go(loop_run *l, trainer *t, const run_file *run, const cli_options *o,
              tutti_error *err)
{
    const record_options start = {.version = TUTTI_VERSION, .resume = o->resume};
    tutti_status s = trainer_keep_record(t, &start, err);
    if (!s)
        s = loop_run_go(l, o->resume, o->start.accept_bits, err);
    trainer_end_record(t, loop_run_interrupted(l) && !s ? TUTTI_E_INTERRUPTED : s,
                       s ? err->text : NULL);
    if (s == TUTTI_OK)
        return CLI_OK;
    cli_print_failure(run, err->text);
    return cli_failure_status(o, t, trainer_signal() != 0);
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    run_file *run = NULL;
    trainer *t = NULL;
    cli_places *where = NULL;
    loop_run *l = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_ranked_registry(o);
    if (!r || !(run = cli_ranked_file(o, RUN_FILE_ENGINE, r)) || !cli_may_train(run))
        goto end;
    trainer_catch_signals(run->checkpoints.signals);
    if (trainer_create(run, r, ops, &t, &e) || loop_run_create(run, t, r, &l, &e)) {
        cli_print_failure(run, e.text);
        status = cli_creation_status(&e);
        goto end;
    }
    trainer_on_message(t, o->talk.verbose ? message_verbose : message, run, true);
    if (!o->talk.quiet && run->model.object) { /* functions alone tell what they want */
        trainer_on_begin(t, cli_print_start, run);
        trainer_on_fact(t, cli_print_fact, NULL);
    }
    cli_watch(run);
    status = go(l, t, run, o, &e);
    const bool first = run->distributed.rank == 0;
    if (status == CLI_OK && first)
        print_results(l, t, run);
    if (status == CLI_OK && first && !o->talk.quiet && run->model.object)
        where = cli_find_places(t);
    status = cli_finish(status, r);

end:
    loop_run_destroy(l);
    trainer_destroy(t);
    cli_print_places(where);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_run = {
    .name = "run",
    .args = "ENGINE.json",
    .kind = CLI_VALUE_RUN,
    .summary = "run Ignite's loop as an engine file says",
    .doc = "Runs Ignite's loop over data: every batch is processed, at every event handlers "
           "are called.",
    .more =
        "  {\"model\": {\"name\": \"lenet\"}, \"optimizer\": {\"name\": \"sgd\"},\n"
        "   \"train\": {\"dataset\": {\"name\": \"glyphs\"}}, \"process\": \"supervised\",\n"
        "   \"eval\": [{\"dataset\": {\"name\": \"glyphs\", \"split\": \"test\"},\n"
        "             \"on\": \"epoch_completed\", \"metrics\": [{\"name\": \"accuracy\"}]}],\n"
        "   \"handlers\": [{\"on\": \"iteration_completed\", \"every\": 10, \"call\": "
        "\"demo.note\",\n"
        "                 \"args\": [\"loss/train/total\", 0.5]}], \"max_epochs\": 3}\n"
        "process     \"supervised\": a training step; or a function of a plugin, which\n"
        "            needs no model: \"batch_mean.of\", {\"call\": ..., \"args\": "
        "[\"input\"]}\n"
        "train       as in run files; or data, which are gone through in order; without\n"
        "            either epoch_length counts batches of nothing\n"
        "eval        as in run files, each at the events of its \"on\" (epoch_completed)\n"
        "max_epochs  or max_iters, the limit; one epoch without either\n"
        "epoch_length, seed, deterministic  as Ignite's\n"
        "distributed  as in run files: several processes, started by mpirun or srun\n"
        "All other keys are those of run files.  eval, predict, export, generate and plan\n"
        "take engine files with a model, too.\n"
        "\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage or input,\n"
        "             128 + signal when stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_RESUME,
    .least = 1,
    .most = 1,
    .run = run,
};
