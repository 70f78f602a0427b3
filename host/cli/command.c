/* command.c - the command line as a whole: which command, help, the version. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

static void usage(const cli_command *const *commands, FILE *out)
{
    (void)fprintf(out, "Usage: tutti COMMAND [OPTION...] [ARGUMENT...]\n\n");
    for (int k = 0; commands[k]; k++)
        (void)fprintf(out, "  %-9s %s\n", commands[k]->name, commands[k]->summary);
    (void)fprintf(out, "  %-9s %s\n", "help",
                  "tell more of a command, as `tutti COMMAND --help`");
    (void)fprintf(out,
                  "\nOptions may stand anywhere after the command, as --key=value or --key "
                  "value.\n`tutti --version` prints the program's version.\n");
}

const cli_command *cli_find_command(const cli_command *const *commands, const char *name)
{
    size_t k = 0;
    while (commands[k] && strcmp(commands[k]->name, name) != 0)
        k++;
    return commands[k];
}

/* The same; says which there is where there is none. */
static const cli_command *find(const cli_command *const *commands, const char *name)
{
    const cli_command *c = cli_find_command(commands, name);
    if (c)
        return c;
    const char *names[MOST + 2] = {NULL};
    size_t n = 0;
    for (; commands[n] && n < MOST; n++)
        names[n] = commands[n]->name;
    names[n] = "help";
    (void)fprintf(stderr, "tutti: there is no command %s%s\n", name,
                  suggest_word(name, names).text);
    return NULL;
}

static int help(const cli_command *const *commands, int argc, char **argv,
                const tutti_op *const *ops)
{
    char text[] = "--help", *args[] = {argv[0], text, NULL};
    if (argc < 2) {
        usage(commands, stdout);
        return CLI_OK;
    }
    if (argc > 2) {
        (void)fprintf(stderr, "tutti: help takes one command, and then has %s\n", argv[2]);
        return CLI_USAGE;
    }
    const cli_command *c = find(commands, argv[1]);
    return c ? cli_run_command(commands, c, 2, args, ops) : CLI_USAGE;
}

int cli_run_line(const cli_command *const *commands, int argc, char **argv,
                 const tutti_op *const *ops)
{
    static const char *const helps[] = {"--help", "-h", "-?", "help"};
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        usage(commands, stderr);
        return CLI_USAGE;
    }
    for (size_t k = 0; k < sizeof helps / sizeof *helps; k++)
        if (strcmp(word, helps[k]) == 0)
            return help(commands, argc - 1, argv + 1, ops);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        (void)printf("tutti %s\n", TUTTI_VERSION);
        return CLI_OK;
    }
    const cli_command *c = find(commands, word);
    return c ? cli_run_command(commands, c, argc - 1, argv + 1, ops) : CLI_USAGE;
}
