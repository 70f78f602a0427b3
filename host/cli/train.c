/* train.c - tutti train: fit, with the result on stdout. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/duration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tutti train [RUN.json] [--set path=value]... [--plugin-path DIR]...\n"
    "                   [--resume auto|FILE] [--duration TIME] [--reset-time]\n"
    "                   [--device auto|cpu|cuda[:N]|NAME] [--threads N]\n\n"
    "Trains the model of RUN.json (the embedded run without one: a small CNN on drawn "
    "digits).\n"
    "  --set path=value   overrides a value: train.dataset.path=data, eval.0.batch_size=100\n"
    "                     (a file or folder is relative to where you stand; in RUN.json, to "
    "it)\n"
    "  --plugin-path DIR  looks for plugins there first\n"
    "  --plugin-lock FILE uses only plugins that stand in FILE (tutti plugins lock), "
    "unchanged\n"
    "  --resume auto      goes on from the run's latest checkpoint if there is one\n"
    "  --resume FILE      goes on from that checkpoint\n"
    "  --duration TIME    trains so much longer (2ep, 500ba, 1h30m) instead of max_duration\n"
    "  --reset-time       with the checkpoint's weights, but all clocks at zero\n"
    "Exit status: 0 trained, 1 the run failed, 2 wrong usage or input, 128 + signal when "
    "stopped.\n";

static void print_results(const trainer *t, const run_file *run)
{
    (void)printf("trained %lld batches, %lld samples, %.1f s\n",
                 (long long)trainer_time(t)->batch, (long long)trainer_time(t)->sample,
                 (double)trainer_time(t)->total_ns * 1e-9);
    cli_print_metrics(t, run);
}

/* A run that is over already has done what --resume auto asks for. */
static int fit(trainer *t, const cli_options *o, tutti_error *err)
{
    fit_options options = {.resume = o->resume, .reset_time = o->reset_time};
    if (o->duration && duration_parse(o->duration, &options.duration, err)) {
        (void)fprintf(stderr, "tutti: --duration %s\n", err->text);
        return CLI_USAGE;
    }
    if (trainer_fit(t, &options, err) == TUTTI_OK)
        return CLI_OK;
    (void)fprintf(stderr, "tutti: %s\n", err->text);
    if (err->status == TUTTI_E_INTERRUPTED)
        return 128 + trainer_signal();
    return o->resume && strcmp(o->resume, "auto") == 0 && err->status == TUTTI_E_STATE &&
                   trainer_finished(t)
               ? CLI_OK
               : CLI_FAILED;
}

int cli_train(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords > 1) {
        (void)fprintf(stderr, "tutti: train takes one run file, not %zu\n", o.nwords);
        return CLI_USAGE;
    }
    status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(&o);
    if (!r || !(run = cli_run(&o, RUN_FILE_TRAIN, r)))
        goto end;
    trainer_catch_signals();
    if (trainer_create(run, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    trainer_on_message(t, cli_message, NULL);
    status = fit(t, &o, &e);
    if (status == CLI_OK)
        print_results(t, run);

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}
