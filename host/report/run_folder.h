/* run_folder.h - the folder of a run: its record, whether somebody works in it, what it has logged. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_RUN_FOLDER_H
#define HOST_REPORT_RUN_FOLDER_H

#include "base/json.h"
#include "report/history.h"

typedef struct run_folder {
    char *path;            /* as it was given, or found below a given one */
    json_doc *doc;         /* the record (host/train/record/README.md) */
    const json_node *root; /* of the record */
    const char *name;
    const char *status; /* "running", "finished", "failed", "interrupted" */
    double started;     /* Unix seconds */
    double seconds;     /* until its end, until now, or until it was last heard of */
    int64_t batches;
    history log;         /* empty without run_folder_read_log, and without a log */
    char log_path[4096]; /* of the logger jsonl; "": the run has none */
    /* The metric that a run is judged by: the first of an evaluation, else the loss. */
    const char *metric; /* NULL: nothing is known */
    double best;        /* NaN: not known */
} run_folder;

typedef struct run_list {
    run_folder *items;
    size_t count;
    char **left_out; /* a sentence for each folder whose record cannot be read */
    size_t nleft_out;
} run_list;

/* Adds the run in `folder`, or, where that is none, those right below it in the order of their beginnings.  Nothing is
 * added for a folder without runs.  Errors: E_NOTFOUND there is no such folder; E_IO; E_NOMEM; a record that cannot be
 * read is an error where `folder` is the run's, else the run is left out, and `left_out` says why.  [any] */
TUTTI_NODISCARD tutti_status run_list_add(run_list *l, const char *folder, tutti_error *err);
void run_list_fini(run_list *l);

/* Reads what the run has logged; fills `log`, and with it metric, best and batches of a run that was killed or goes on.
 * Errors: those of history_read, but not E_NOTFOUND. */
TUTTI_NODISCARD tutti_status run_folder_read_log(run_folder *r, tutti_error *err);
/* Reads the record again, and what the log has got since.  *ret_again: the log has been cut, and was read anew from its
 * beginning.  Errors: those of the record, and of run_folder_read_log.  [any] */
TUTTI_NODISCARD tutti_status run_folder_look_again(run_folder *r, bool *ret_again,
                                                   tutti_error *err);
/* The same with the traces of its algorithms. */
TUTTI_NODISCARD tutti_status run_folder_read_traces(run_folder *r, tutti_error *err);

#endif
