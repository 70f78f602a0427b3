/* options.h - the options of all commands and the commands themselves, as tables. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_OPTIONS_H
#define HOST_CLI_OPTIONS_H

#include "cli/option_groups.h"
#include "tutti/op.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_command cli_command;

/* What a command was given. */
typedef struct cli_options {
    const cli_command *const *commands; /* all that there are; a NULL ends them */
    const char *run;                    /* path, or NULL for the embedded default */
    const char *sets[CLI_MAX_OPTIONS + 1];
    const char *plugin_paths[CLI_MAX_OPTIONS + 1];
    const char *resume; /* or --checkpoint */
    cli_predicting predicting;
    cli_length length;
    const char *lock;                       /* --plugin-lock */
    const char *policy;                     /* --plugin-policy */
    const char *words[CLI_MAX_OPTIONS + 1]; /* other arguments */
    size_t nsets;
    size_t npaths;
    size_t nwords;
    bool check; /* --check-plugins */
    bool json;
    cli_start start;
    cli_look look;
    cli_preview preview;
    cli_checking checking;
    cli_making making;
    cli_exporting exporting;
    cli_using_data data;
    cli_generating generating;
    cli_signing signing;
    cli_talk talk;
} cli_options;

/* Which options a command takes, one bit a group. */
enum {
    CLI_TAKES_PLUGINS = 1,    /* where plugins are */
    CLI_TAKES_RUN = 2,        /* values of the run file */
    CLI_TAKES_RESUME = 4,     /* a checkpoint to go on from */
    CLI_TAKES_CHECKPOINT = 8, /* one to look at */
    CLI_TAKES_DURATION = 16,
    CLI_TAKES_OUTPUT = 32,
    CLI_TAKES_DRAWING = 64,
    CLI_TAKES_CHECK = 128,
    CLI_TAKES_NEW = 256,
    CLI_TAKES_SIGN = 512,
    CLI_TAKES_TALK = 1024, /* how much it prints */
    CLI_TAKES_JSON = 2048, /* results for programs */
    CLI_TAKES_BATCHES = 4096,
    CLI_TAKES_PLOT = 8192,
    CLI_TAKES_PAGE = 16384,
    CLI_TAKES_EXPORT = 32768,
    CLI_TAKES_GENERATE = 65536,
    CLI_TAKES_DATA = 131072
};

/* What a shell completes a value by, beside the words in small letters that its name lists
 * ("auto|FILE"). */
enum {
    CLI_VALUE_NONE,
    CLI_VALUE_ANY,
    CLI_VALUE_FILE,
    CLI_VALUE_FOLDER,
    CLI_VALUE_RUN,     /* a run file, or a recipe's name */
    CLI_VALUE_COMMAND, /* of this program */
    CLI_VALUE_DEVICE,
    CLI_VALUE_KIND,   /* of objects */
    CLI_VALUE_OBJECT, /* of a plugin */
    CLI_VALUE_LAYER,
    CLI_VALUE_OP
};

typedef struct cli_option {
    const char *name;  /* "plugin-path" */
    const char *value; /* "DIR"; NULL: it takes none */
    int kind;          /* CLI_VALUE_* */
    unsigned group;    /* the CLI_TAKES_* of commands that have it */
    const char *doc;
    size_t list;  /* offset in cli_options of the list of values, or of the one text or flag */
    size_t count; /* offset of the list's length; 0: there is one value, the last */
    const char *prefix; /* "device=": the value becomes an override */
} cli_option;

/* A NULL name ends it. */
extern const cli_option cli_option_table[];

typedef int cli_function(const cli_options *o,
                         const tutti_op *const *ops); /* the exit status */

/* What a command does by its first argument: `tutti plugins info NAME`. */
typedef struct cli_use {
    const char *name;   /* "info" */
    const char *args;   /* those that follow: "NAME" */
    int kind;           /* CLI_VALUE_* of these */
    const char *doc;    /* goes on from the name: "prints what ..." */
    size_t least, most; /* how many follow */
    cli_function *run;  /* o->words[0] is the name */
} cli_use;

struct cli_command {
    const char *name;
    const char *args;    /* as in the usage line: "[RUN.json]"; NULL with uses */
    int kind;            /* CLI_VALUE_* of the arguments */
    const char *summary; /* one line */
    const char *doc;     /* before the options in --help */
    const char *more;    /* after them: what is preformatted, then "Exit status: 0 ..." */
    unsigned takes;      /* CLI_TAKES_* */
    size_t least, most;  /* how many arguments */
    cli_function *run;
    const cli_use *uses; /* instead of args, least, most and run; a NULL name ends them */
};

extern const cli_command cli_train, cli_eval, cli_predict, cli_generate, cli_export, cli_run,
    cli_runs, cli_report, cli_validate, cli_explain, cli_plan, cli_profile, cli_plugins,
    cli_ops, cli_layers, cli_data, cli_bench, cli_docs, cli_version;

/* The command of that name, or NULL. */
const cli_command *cli_find_command(const cli_command *const *commands, const char *name);
/* The command's use of that name, or NULL. */
const cli_use *cli_find_use(const cli_command *c, const char *name);
/* Its arguments for a usage line, "list|info NAME"; the text is borrowed until the next call. */
const char *cli_command_args(const cli_command *c);

/* Reads the arguments after the command's name and runs it; --help and --version print and are done.
 * Says what is wrong and returns CLI_USAGE. */
int cli_run_command(const cli_command *const *commands, const cli_command *c, int argc,
                    char **argv, const tutti_op *const *ops);
/* The same for the whole command line. */
int cli_run_line(const cli_command *const *commands, int argc, char **argv,
                 const tutti_op *const *ops);

#endif
