/* plan.c - tutti plan: what a training step computes, step by step, and where its memory lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(o);
    if (!r || !(run = cli_run_file(o, RUN_FILE_TRAIN, r)))
        goto end;
    if (!trainer_create(run, r, ops, &t, &e))
        trainer_on_message(t, cli_message, run);
    if (e.status || trainer_preview(t, stdout, o->dot, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    status = CLI_OK;

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
        "arena.",
    .more = "Exit status: 0 printed, 1 the step cannot be planned, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_DRAWING,
    .least = 0,
    .most = 1,
    .run = run,
};
