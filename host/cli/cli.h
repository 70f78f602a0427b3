/* cli.h - what the commands share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_CLI_H
#define HOST_CLI_CLI_H

#include "cli/options.h"
#include "cli/run_summary.h"
#include "plugin/instance.h"
#include "train/trainer/trainer.h"

#include <stdbool.h>
#include <stdio.h>

/* Where plugins are and which may be loaded. */
registry_options cli_registry_options(const cli_options *o);
/* The registry, with its remarks on stderr; NULL after saying why not. */
registry *cli_registry(const cli_options *o);
/* The path of what is installed as share/tutti/`below`, which lies beside the program in a build; false
 * where it is not there, with the last place that was looked at. */
bool cli_share(const char *below, char *ret_path, size_t size);
/* The run file, of RUN_FILE_* `kind`, the recipe of that name, whose paths count from the folder where one
 * stands, or the embedded default; prints every fault.  NULL when there was one. */
run_file *cli_run_file(const cli_options *o, int kind, registry *r);
/* The same of text that `name` has; paths count from where one stands. */
run_file *cli_run_text(const cli_options *o, const char *name, const char *text, int kind,
                       registry *r);

/* Whether the command knows which weights to take; says so where it does not. */
bool cli_has_weights(const cli_options *o, const run_file *run, const char *command);

/* From here on calls of plugins that take long are named. */
void cli_watch(const run_file *run);
int cli_signal_status(void); /* of a run that a signal has stopped, here or on another rank */
/* The exit status of a training that has ended with an error, `stopped` where that is a signal's.  A run that is over
 * already has done what --resume auto asks for. */
int cli_failure_status(const cli_options *o, const trainer *t, bool stopped);
/* That of a trainer which could not be created; a signal's where that ended the wait for other processes. */
int cli_creation_status(const tutti_error *e);
/* The end of cli_watch; the command's exit status, given the run's: changes of the process that
 * --check-plugins found are a failure.  Does not return when the operator would not wait. */
int cli_finish(int status, const registry *r);

/* The trainer of a run whose model alone is used: it logs nothing, stops at the run's signals, and its remarks go to stderr.
 * NULL after one sentence there. */
trainer *cli_trainer_of_model(const cli_options *o, run_file *run, registry *r,
                              const tutti_op *const *ops);
/* Remarks of a trainer, on stderr; `ctx` is its run file. */
void cli_message(void *ctx, int level, const char *component, const char *text);

/* Where a command says what it has written to `path`: standard output, or standard error where that is what it has written. */
FILE *cli_notes(const char *path);

/* Hands on what was printed so far.  Returns the errno with which that was first seen to fail, 0 while
 * it has not. */
int cli_flush(void);

/* From here on a pipe that nobody reads any more is an error of who writes to it, not the end of the process. */
void cli_tell_closed_pipes(void);

/* The devices of an object of kind "device", with its default settings; of NULL: the host's own of
 * that name. */
void cli_print_devices(const object *o, const char *name);

/* What `tutti plugins list` and `tutti plugins info` run. */
int plugins_list(const cli_options *o, const tutti_op *const *ops);
int plugins_info(const cli_options *o, const tutti_op *const *ops);

/* plugins check: the results of every check on stdout; the exit status. */
int plugins_check(const cli_options *o, const tutti_op *const *ops);

/* plugins new: a folder with a plugin out of the SDK's templates; the exit status. */
int plugins_new(const cli_options *o, const tutti_op *const *ops);

/* plugins keygen, sign, verify: keys and signatures of folders; the exit status. */
int plugins_keygen(const cli_options *o, const tutti_op *const *ops);
int plugins_sign(const cli_options *o, const tutti_op *const *ops);
int plugins_verify(const cli_options *o, const tutti_op *const *ops);

/* Those of bench; they return the exit status. */
cli_function bench_dispatch, bench_plan, bench_kernels, bench_peak, bench_optimizer,
    bench_loader;

/* The level of tutti/isa.h that kernels were built for alone, -1 for all; main sets it before a command runs. */
extern int32_t cli_kernels_only;
extern const char cli_default_run[]; /* host/recipes/glyphs_cnn.json, embedded */

/* ---- ranks.c ---- */

/* As cli_registry, for the two below: other ranks do not wait for one that has none. */
registry *cli_ranked_registry(const cli_options *o);
/* As cli_run_file; what is wrong with the file is told to the other ranks of its run too, which wait for this one. */
run_file *cli_ranked_file(const cli_options *o, int kind, registry *r);
/* The same of the run file in the record of a folder, --repeat; *ret_repeat is the record, which the caller frees. */
run_file *cli_repeated_file(const cli_options *o, registry *r, run_repeat **ret_repeat);
/* Whether this process may train, predict or export: several of one launcher that do not do it together would write the
 * same files, which is said. */
bool cli_may_train(const run_file *run);
bool cli_may_predict(const run_file *run);
bool cli_may_export(void);

/* As cli_run_file; `why`, CLI_WHY_SIZE bytes or NULL, gets the first fault. */
enum { CLI_WHY_SIZE = 480 };
run_file *cli_read_run(const cli_options *o, int kind, registry *r, char *why);
/* The same of a record's run file; `sets` are those of cli_repeat_sets. */
typedef struct cli_sets {
    char name[512];
    const char *texts[CLI_MAX_OPTIONS + 2]; /* NULL-terminated */
} cli_sets;
run_file *cli_read_repeat(const cli_options *o, const run_repeat *repeat, const cli_sets *sets,
                          registry *r, char *why);
/* --set, behind one that gives the run a name of its own, NAME-repeat. */
void cli_repeat_sets(const cli_options *o, const run_repeat *repeat, cli_sets *ret);
/* Where the run is read from, `recipe` if it is a recipe's name. */
const char *cli_run_path(const cli_options *o, char *recipe, size_t size);

/* Why the run has failed, on stderr: once, where several processes train together. */
void cli_print_failure(const run_file *run, const char *text);

#endif
