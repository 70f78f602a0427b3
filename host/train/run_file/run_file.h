/* run_file.h - a run as its JSON file describes it, checked and complete. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RUN_FILE_RUN_FILE_H
#define HOST_TRAIN_RUN_FILE_RUN_FILE_H

#include "train/run_file/run_sections.h"

/* A file with "process" is an engine file, for `tutti run`; the others are for `tutti train`.  MODEL: either, with a
 * model, for what trains nothing. */
enum { RUN_FILE_TRAIN, RUN_FILE_ENGINE, RUN_FILE_ANY, RUN_FILE_MODEL };
/* With NAMED a training run must have a name, with NAMES one without gets one (run_name_generate). */
enum { RUN_FILE_KINDS = 3, RUN_FILE_NAMED = 4, RUN_FILE_NAMES = 8, RUN_NAME_SIZE = 64 };
/* Seconds since 1970 and two words, "1763838383-calm-heron": names sort by time, and two runs of one second differ.
 * Returns `text`, which holds RUN_NAME_SIZE bytes.  [any] */
const char *run_name_generate(char *text);

struct fetched; /* train/fetch/fetch.h */

/* What a run file is read from. */
typedef struct run_source {
    json_doc *doc;
    char *folder;            /* absolute; where its relative paths count from */
    struct fetched *fetched; /* the checkpoint of elsewhere that it is kept in; or NULL */
} run_source;

typedef struct run_file {
    bool engine; /* an engine file: `loop` counts, model and data may be missing */
    run_loop loop;
    run_source source;
    char *text; /* the run as compact JSON, overrides applied */
    const char *name;
    uint64_t seed;
    run_part model;
    run_part loss; /* in the place of the model's; without an object the model's own */
    run_data train;
    run_data *evals;
    size_t nevals;
    run_group *groups; /* at least one */
    size_t ngroups;
    run_schedules schedules;
    run_participants participants;
    run_observers observers;
    run_length length;
    run_checkpoints checkpoints;
    int64_t microbatch_size; /* 0: the whole batch; RUN_MICROBATCH_AUTO: as many as fit */
    run_numerics numerics;
    const char *recompute; /* "cheap" */
    run_device device;
    run_distributed distributed;
    int threads;       /* 0: as many as this process may use */
    double watchdog_s; /* calls of plugins that take longer are named; 0: none */
} run_file;

/* Reads and checks a run file; relative paths count from `folder`, or from the file's own where it is NULL; `kind` is
 * RUN_FILE_*, `overrides` are "path=value" texts, NULL-terminated, or NULL.  Everything wrong goes to `faults`; then
 * E_ARG is returned and *ret_run stays untouched.  [control] */
TUTTI_NODISCARD tutti_status run_file_read(const char *path, const char *folder, int kind,
                                           const char *const *overrides, registry *r,
                                           run_file **ret_run, faults *faults);
/* The same from text in memory; `folder` is where relative paths count from. */
TUTTI_NODISCARD tutti_status run_file_parse(const char *name, const char *text,
                                            const char *folder, int kind,
                                            const char *const *overrides, registry *r,
                                            run_file **ret_run, faults *faults);
/* Of a file with faults, or of `text` in memory that `path` names, how its ranks find each other: *ret_run has a name and
 * "distributed" alone.  Errors: E_NOTFOUND it has no comm that can be opened; those of JSON.  [control] */
TUTTI_NODISCARD tutti_status run_file_ranks(const char *path, const char *text,
                                            const char *const *overrides, registry *r,
                                            run_file **ret_run);
/* Samples of a slot of a training batch: of a microbatch, or of the whole batch where there is one or their size is
 * "auto". */
int64_t run_slot_size(const run_file *run);
/* Leaves out the loggers that write to the terminal: those with the tag "terminal". */
void run_file_be_quiet(run_file *run);
/* Leaves out the others, which keep what a training run has logged. */
void run_file_forget_loggers(run_file *run);
/* Leaves out what a run keeps: loggers, callbacks that save (those with the tag "saves"), traces. */
void run_file_keep_nothing(run_file *run);
void run_file_free(run_file *run); /* NULL is allowed */

#endif
