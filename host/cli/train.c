/* train.c - tutti train: fit, with the result on stdout. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/duration.h"
#include "train/record/repeat.h"
#include "train/trainer/describe.h"

#include <stdio.h>

static int fit(trainer *t, const run_file *run, const cli_options *o,
               const record_options *start, tutti_error *err)
{
    fit_options options = {.resume = start->resume,
                           .accept_bits = o->start.accept_bits,
                           .strict = o->start.strict,
                           .reset_time = start->reset_time};
    if (start->duration && duration_parse(start->duration, &options.duration, err)) {
        (void)fprintf(stderr, "tutti: --duration %s\n", err->text);
        return CLI_USAGE;
    }
    tutti_status s = trainer_keep_record(t, start, err);
    if (!s)
        s = trainer_fit(t, &options, err);
    trainer_end_record(t, s, s ? err->text : NULL);
    if (!s)
        return CLI_OK;
    cli_print_failure(run, err->text);
    return cli_failure_status(o, t, err->status == TUTTI_E_INTERRUPTED);
}

/* How the run is started: as the command line says, or as the run that it repeats was. */
static record_options start_of(const cli_options *o, const run_repeat *repeat)
{
    record_options s = {.version = TUTTI_VERSION,
                        .resume = o->resume,
                        .duration = o->length.duration,
                        .reset_time = o->start.reset_time,
                        .repeats = repeat};
    if (repeat && !s.resume)
        s.resume = run_repeat_resume(repeat);
    if (repeat && !s.duration)
        s.duration = run_repeat_duration(repeat);
    if (repeat)
        s.reset_time = s.reset_time || run_repeat_resets_time(repeat);
    return s;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    cli_places *where = NULL;
    run_file *run = NULL;
    run_repeat *repeat = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_ranked_registry(o);
    if (r)
        run = o->start.repeat ? cli_repeated_file(o, r, &repeat)
                              : cli_ranked_file(o, RUN_FILE_TRAIN, r);
    if (!run || !cli_may_train(run))
        goto end;
    trainer_catch_signals(run->checkpoints.signals);
    if (trainer_create(run, r, ops, &t, &e)) {
        cli_print_failure(run, e.text);
        status = cli_creation_status(&e);
        goto end;
    }
    trainer_on_message(t, cli_message, run, o->talk.verbose);
    if (!o->talk.quiet) {
        trainer_on_begin(t, cli_print_start, run);
        trainer_on_fact(t, cli_print_fact, NULL);
    }
    cli_watch(run);
    const record_options start = start_of(o, repeat);
    status = fit(t, run, o, &start, &e);
    if (status == CLI_OK && run->distributed.rank == 0)
        cli_print_training(t, run);
    if (status == CLI_OK && run->distributed.rank == 0 && !o->talk.quiet)
        where = cli_find_places(t);
    status = cli_finish(status, r);

end:
    trainer_destroy(t);
    cli_print_places(where);
    run_file_free(run);
    run_repeat_free(repeat);
    registry_destroy(r);
    return status;
}

const cli_command cli_train = {
    .name = "train",
    .args = "[RUN.json]",
    .kind = CLI_VALUE_RUN,
    .summary = "train a model as a run file says",
    .doc = "Trains the model of RUN.json, a file or a recipe's name; without it the embedded "
           "run, a small CNN on drawn digits.",
    .more = "SIGINT, SIGTERM and SIGHUP stop after the batch under way and save;\n"
            "SIGUSR1, or the signals of \"save_on\", save and go on.\n"
            "Exit status: 0 trained, 1 the run failed, 2 wrong usage or input,\n"
            "             128 + signal when stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_RESUME |
             CLI_TAKES_DURATION,
    .least = 0,
    .most = 1,
    .run = run,
};
