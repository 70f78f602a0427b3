/* cli.h - what the commands share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_CLI_H
#define HOST_CLI_CLI_H

#include "plugin/registry.h"
#include "train/trainer.h"

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum { CLI_MAX_OPTIONS = 64 };

/* The options that commands about runs take. */
typedef struct cli_options {
    const char *run; /* path, or NULL for the embedded default */
    const char *sets[CLI_MAX_OPTIONS + 1];
    const char *plugin_paths[CLI_MAX_OPTIONS + 1];
    const char *resume; /* or --checkpoint */
    const char *data;
    const char *output;
    const char *duration;
    const char *lock;                       /* --plugin-lock */
    const char *words[CLI_MAX_OPTIONS + 1]; /* other arguments */
    size_t nsets;
    size_t npaths;
    size_t nwords;
    bool help;
    bool reset_time;
} cli_options;

/* Reads the arguments after the command's name.  Prints what is wrong and returns CLI_USAGE. */
int cli_read(int argc, char **argv, const char *usage, cli_options *ret_options);
/* The registry, with its remarks on stderr; NULL after saying why not. */
registry *cli_registry(const cli_options *o);
/* The run file, of RUN_FILE_* `kind`, or the embedded default; prints every fault.  NULL when there was
 * one. */
run_file *cli_run(const cli_options *o, int kind, registry *r);

/* Remarks of a trainer, on stderr. */
void cli_message(void *ctx, int level, const char *component, const char *text);
/* The last value of every metric of the evaluations, one a line. */
void cli_print_metrics(const trainer *t, const run_file *run);

/* The devices of an object of kind "device", with its default settings; of NULL: the host's own of
 * that name. */
void cli_print_devices(const object *o, const char *name);

int cli_train(int argc, char **argv, const tutti_op *const *ops);
int cli_eval(int argc, char **argv, const tutti_op *const *ops);
int cli_predict(int argc, char **argv, const tutti_op *const *ops);
int cli_validate(int argc, char **argv, const tutti_op *const *ops);
int cli_explain(int argc, char **argv, const tutti_op *const *ops);
int cli_run_engine(int argc, char **argv, const tutti_op *const *ops);
int cli_plan(int argc, char **argv, const tutti_op *const *ops);
int cli_plugins(int argc, char **argv, const tutti_op *const *ops);
int cli_bench(int argc, char **argv, const tutti_op *const *ops);
int cli_version(int argc, char **argv, const tutti_op *const *ops);

/* Those of bench; they return the exit status. */
int bench_dispatch(void);
int bench_plan(const tutti_op *const *ops);
int bench_kernels(const tutti_op *const *ops);
int bench_optimizer(const cli_options *o);
int bench_loader(const cli_options *o);

extern const char cli_default_run[]; /* host/recipes/glyphs_cnn.json, embedded */

#endif
