/* docs_man.c - tutti docs man: the man page of the program or of a command, out of the tables of options.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"
#include "cli/docs/docs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct named {
    const char *name, *doc;
} named;

/* Beside those of loading plugins, which base/env.h has. */
static const named variables[] = {
    {"OMP_NUM_THREADS", "how many threads `bench kernels` uses; runs go by their `threads`"},
    {"OMP_WAIT_POLICY", "of OpenMP; without it, and without GOMP_SPINCOUNT, threads spin for a "
                        "short time only while they wait for each other, shorter where more "
                        "ran at the start than there are processors"},
    {"TUTTI_ISA", "lowers the instruction set of the kernels: a level that `tutti version` "
                  "knows, such as base or v3"},
    {"TUTTI_RANK",
     "of a process that its launcher started as one of several: its number, from 0"},
    {"TUTTI_WORLD_SIZE",
     "how many these are; the comm `shared_memory` reads both, and a run without "
     "`distributed` is refused where there is more than one"},
    {"TUTTI_TUNE", "0: measures no kernels, takes the first of each and reads no choices that "
                   "were kept; 1: keeps choices also where other processes had the processors "
                   "meanwhile"},
    {"XDG_CACHE_HOME", "where choices of kernels are kept, in tutti/kernels; ~/.cache without"},
    {"TUTTI_CHART_JS", "the file of Chart.js, for `report`, instead of where Debian has it"},
    {"TUTTI_CUDART", "the file of the CUDA runtime, instead of where the loader looks"},
    {"TUTTI_CUDA_PROFILE",
     "a file: the time of each launch on a GPU, summed up by module and operation; with "
     "TUTTI_CUDA_GRAPHS=0, since graphs are launched whole"},
    {"TUTTI_CUDA_PROFILE_AFTER", "how many of a run's first steps that file leaves out"},
    {"TUTTI_CUDA_ALLOW", "tf32, unordered: what kernels on a GPU may do to be faster, for runs "
                         "that do not say it themselves"},
    {"TUTTI_CUDA_GRAPHS", "0: steps on a GPU are launched one by one, for runs that do not say "
                          "it themselves"},
    {NULL, NULL}};

static const named files[] = {
    {"~/.local/share/tutti/plugins", "the user's own plugins, a folder each"},
    {"/etc/tutti/plugins.d", "those of the machine's operator"},
    {"/usr/local/lib/tutti/plugins", "those that were installed beside the distribution"},
    {"/usr/lib/tutti/plugins", "those of the distribution"},
    {"/usr/share/tutti/recipes", "run files that go by their names: `tutti train glyphs_cnn`"},
    {NULL, NULL}};

static const char *const statuses = "0    done\n"
                                    "1    the run, the check or the measurement failed\n"
                                    "2    wrong usage or input\n"
                                    "128+ stopped by that signal";

static void print_names(const named *list)
{
    for (; list->name; list++) {
        roff_item(list->name, NULL);
        roff_text(list->doc);
    }
}

static void print_environment(void)
{
    roff_section("ENVIRONMENT");
#define PRINT_X(name, variable, text)                                                          \
    roff_item(variable, NULL);                                                                 \
    roff_text(text);
    ENV_VARIABLES(PRINT_X)
#undef PRINT_X
    print_names(variables);
}

static void print_program(const cli_command *const *commands)
{
    roff_title("tutti", 1, "train neural networks with plugins");
    roff_section("SYNOPSIS");
    (void)printf("\\fBtutti\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n");
    roff_section("DESCRIPTION");
    roff_text(
        "Reads a run from a JSON file and trains it. Models, data sets, optimizers, training "
        "algorithms, metrics, callbacks and loggers are plugins: folders with a manifest and a "
        "shared object.\nOptions may stand anywhere after the command, as `--key=value` "
        "or `--key value`; behind `--` all words are arguments. `tutti COMMAND --help` "
        "prints what a command takes, `tutti --version` the program's version.");
    roff_section("COMMANDS");
    for (int k = 0; commands[k]; k++) {
        roff_item(commands[k]->name, cli_command_args(commands[k]));
        roff_text(commands[k]->summary);
    }
    print_environment();
    roff_section("FILES");
    print_names(files);
    roff_section("EXIT STATUS");
    roff_lines(statuses);
    roff_section("SEE ALSO");
    for (int k = 0; commands[k]; k++)
        (void)printf(".BR tutti\\-%s (1),\n", commands[k]->name);
    (void)printf(".BR tutti\\-run (5),\n.BR tutti\\-engine (5),\n.BR tutti\\-plugin (5)\n");
}

static void print_options(const cli_command *c)
{
    char name[64];
    roff_section("OPTIONS");
    for (const cli_option *o = cli_option_table; o->name; o++)
        if (o->group & c->takes) {
            (void)snprintf(name, sizeof name, "--%s%s", o->name, o->value ? "=" : "");
            roff_item(name, o->value);
            roff_text(o->doc);
        }
    roff_item("--help", NULL);
    roff_text("Prints what the command takes");
    roff_item("--version", NULL);
    roff_text("Prints the program's version");
}

/* What stands after the options in --help: lines as they are, then the exit statuses. */
static void print_more(const char *more)
{
    static const char mark[] = "Exit status: ";
    char before[4096], after[1024];
    const char *at = strstr(more, mark);
    size_t n = at ? (size_t)(at - more) : strlen(more);
    while (n && isspace((unsigned char)more[n - 1]))
        n--;
    if (n) {
        (void)snprintf(before, sizeof before, "%.*s", (int)n, more);
        roff_section("NOTES");
        roff_lines(before);
    }
    if (!at)
        return;
    /* Continued lines begin where the first one's text does. */
    n = 0;
    for (at += strlen(mark); *at && n + 1 < sizeof after; at++)
        if (!(n && after[n - 1] == '\n' && *at == ' '))
            after[n++] = *at;
    after[n] = '\0';
    roff_section("EXIT STATUS");
    roff_lines(after);
}

static void print_command(const cli_command *c)
{
    char name[64];
    (void)snprintf(name, sizeof name, "tutti-%s", c->name);
    roff_title(name, 1, c->summary);
    roff_section("SYNOPSIS");
    if (!c->uses)
        (void)printf("\\fBtutti %s\\fR [\\fIOPTION\\fR...] \\fI%s\\fR\n", c->name, c->args);
    for (const cli_use *u = c->uses; u && u->name; u++)
        (void)printf("%s\\fBtutti %s %s\\fR [\\fIOPTION\\fR...] \\fI%s\\fR\n",
                     u == c->uses ? "" : ".br\n", c->name, u->name, u->args);
    roff_section("DESCRIPTION");
    roff_text(c->doc);
    for (const cli_use *u = c->uses; u && u->name; u++) {
        roff_item(u->name, u->args);
        roff_text(u->doc);
    }
    print_options(c);
    print_more(c->more);
    roff_section("SEE ALSO");
    (void)printf(".BR tutti (1),\n.BR tutti\\-run (5),\n.BR tutti\\-plugin (5)\n");
}

int docs_man(const cli_options *o, const tutti_op *const *ops)
{
    const cli_command *c = o->nwords == 2 ? cli_find_command(o->commands, o->words[1]) : NULL;
    if (o->nwords == 2 && !c) {
        (void)fprintf(stderr, "tutti: there is no command %s\n", o->words[1]);
        return CLI_USAGE;
    }
    if (c)
        print_command(c);
    else
        print_program(o->commands);
    return CLI_OK;
}
