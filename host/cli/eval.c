/* eval.c - tutti eval: the evaluations of a run file with the weights of a checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static const char usage[] =
    "usage: tutti eval RUN.json --checkpoint auto|FILE [--set path=value]...\n"
    "                  [--plugin-path DIR]... [--device auto|cpu|cuda[:N]] [--threads N]\n\n"
    "Runs every evaluation of RUN.json once and prints its metrics; trains nothing.\n"
    "  --checkpoint auto  takes the run's latest checkpoint\n"
    "  --set path=value   overrides a value: eval.0.dataset.path=data, eval.0.batch_size=100\n"
    "Exit status: 0 evaluated, 1 failed, 2 wrong usage or input, 128 + signal when stopped.\n";

int cli_eval(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords != 1 || !o.resume || o.data || o.output) {
        (void)fputs(usage, stderr);
        return CLI_USAGE;
    }
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(&o);
    run_file *run = r ? cli_run(&o, RUN_FILE_TRAIN, r) : NULL;
    status = CLI_USAGE;
    if (!run)
        goto end;
    trainer_catch_signals();
    if (trainer_create(run, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    trainer_on_message(t, cli_message, NULL);
    status = CLI_OK;
    if (trainer_eval(t, o.resume, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        status = e.status == TUTTI_E_INTERRUPTED ? 128 + trainer_signal() : CLI_FAILED;
    } else
        cli_print_metrics(t, run);

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}
