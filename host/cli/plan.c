/* plan.c - tutti plan: what a training step computes, step by step, and where its memory lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tutti plan [RUN.json] [--set PATH=VALUE]... [--dot]\n\n"
    "Prints the plan of one training step of the run, without training: its sizes; what is\n"
    "computed again to save memory; every node with shape, operation, attributes, module;\n"
    "the steps in their order with the places they read and write, chains of elementwise\n"
    "nodes as one and with the way of those that have several; and the map of the arena.\n\n"
    "  --dot   the nodes as a drawing for Graphviz instead\n"
    "Exit status: 0 printed, 1 the step cannot be planned, 2 wrong usage or input.\n";

int cli_plan(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    char *left[CLI_MAX_OPTIONS];
    int count = 0;
    bool draw = false;
    for (int k = 0; k < argc; k++) {
        const bool dot = strcmp(argv[k], "--dot") == 0;
        draw = draw || dot;
        if (!dot && count < CLI_MAX_OPTIONS)
            left[count++] = argv[k];
    }
    int status = cli_read(count, left, usage, &o);
    if (status || o.help)
        return status;
    status = CLI_USAGE;
    trainer *t = NULL;
    run_file *run = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_registry(&o);
    if (!r || !(run = cli_run(&o, RUN_FILE_TRAIN, r)))
        goto end;
    if (!trainer_create(run, r, ops, &t, &e))
        trainer_on_message(t, cli_message, NULL);
    if (e.status || trainer_preview(t, stdout, draw, &e)) {
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
