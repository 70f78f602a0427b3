/* main.c - the program: finds the command; the one place that joins host and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "op_table.h"
#include "tutti/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv, const tutti_op *const *ops);
    const char *text;
} command;

static const command commands[] = {
    {"train", cli_train, "train a model as a run file says"},
    {"eval", cli_eval, "evaluate the model of a checkpoint"},
    {"predict", cli_predict, "write a model's outputs for a data set"},
    {"run", cli_run_engine, "run a loop over data with functions of plugins"},
    {"validate", cli_validate, "check a run file and say everything that is wrong"},
    {"explain", cli_explain, "print who runs at each event, in which order, and why"},
    {"plan", cli_plan, "print what a training step computes and where its memory lies"},
    {"plugins", cli_plugins, "list plugins, or describe one"},
    {"bench", cli_bench, "measure a part of the host"},
    {"version", cli_version, "print the versions of the program and its ABI"},
};

enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *out)
{
    (void)fprintf(out, "usage: tutti COMMAND [OPTION]...\n\n");
    for (int k = 0; k < NCOMMANDS; k++)
        (void)fprintf(out, "  %-9s %s\n", commands[k].name, commands[k].text);
    (void)fprintf(out, "\n`tutti COMMAND --help` tells more of each.\n");
}

/* libgomp's threads spin for seconds of work at every barrier, which starves the data workers when
 * cores are few.  It reads how long to spin when it is loaded, so the program starts itself once more
 * with a short spin, unless the user has chosen. */
static void limit_spinning(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    if (setenv("GOMP_SPINCOUNT", "20000", 1) == 0)
        (void)execv("/proc/self/exe", argv); /* where that fails, spinning is only slower */
}

/* TUTTI_ISA lowers the instruction set of the kernels. */
static bool isa_is_known(void)
{
    const char *text = getenv("TUTTI_ISA");
    if (!text || tutti_isa_named(text) >= 0)
        return true;
    (void)fprintf(stderr, "tutti: the environment's TUTTI_ISA is \"%s\", want one of", text);
    for (int32_t k = 0; k < TUTTI_ISA_LEVELS; k++)
        (void)fprintf(stderr, "%s %s", k ? "," : "", tutti_isa_name(k));
    (void)fprintf(stderr, "\n");
    return false;
}

int main(int argc, char **argv)
{
    limit_spinning(argv);
    if (!isa_is_known())
        return CLI_USAGE;
    crash_handler_install();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    const char *names[NCOMMANDS + 1] = {NULL};
    for (int k = 0; k < NCOMMANDS; k++) {
        names[k] = commands[k].name;
        if (strcmp(argv[1], commands[k].name) == 0)
            return commands[k].run(argc - 2, argv + 2, tutti_op_table);
    }
    const char *near = nearest_word(argv[1], names);
    (void)fprintf(stderr, "tutti: there is no command %s%s%s%s\n", argv[1],
                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return CLI_USAGE;
}
