/* docs.c - tutti docs: the program's man pages, and what a shell may complete a command line by. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/docs/docs.h"

static const cli_use uses[] = {
    {"man", "[COMMAND]", CLI_VALUE_COMMAND,
     "prints the man page of the program, or of the command, for man(1): `tutti docs man train "
     "| man -l -`.",
     0, 1, docs_man},
    {"format", "SCHEMA.json NAME", CLI_VALUE_FILE,
     "prints the man page NAME(5) of the files that the JSON schema describes, as those of the "
     "SDK do: run.schema.json, engine.schema.json, plugin.schema.json.",
     2, 2, docs_format},
    {"complete", "-- WORD...", CLI_VALUE_NONE,
     "prints what the last word of a command line may become, for shells: the installed "
     "completion of bash and zsh calls it.",
     1, CLI_MAX_OPTIONS, docs_complete},
    {NULL, NULL, 0, NULL, 0, 0, NULL}};

const cli_command cli_docs = {
    .name = "docs",
    .kind = CLI_VALUE_ANY,
    .summary = "print man pages, complete command lines",
    .doc = "Prints man pages, made of the tables that the program reads its command line by.",
    .more = "Exit status: 0 printed, 1 a file cannot be read, 2 wrong usage.",
    .takes = 0,
    .uses = uses,
};
