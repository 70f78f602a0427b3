/* load_report.h - which weights of a run a file gave, and why it did not give the others. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PRETRAINED_LOAD_REPORT_H
#define HOST_TRAIN_PRETRAINED_LOAD_REPORT_H

#include "train/checkpoint_file/checkpoint.h"
#include "train/context/run_log.h"

enum {
    LOAD_TAKEN,
    LOAD_IGNORED, /* the run file does not want it */
    LOAD_MISSING, /* the file has no tensor of that name */
    LOAD_SHAPE    /* the file's has another shape or dtype */
};

typedef struct load_row {
    const char *name; /* of this run's weight, borrowed */
    tutti_desc here;
    tutti_tensor there; /* the file's; zeros where it has none */
    int verdict;        /* LOAD_* */
} load_row;

/* Starts as zeros. */
typedef struct load_report {
    load_row *rows; /* in the order of the model */
    size_t count;
    size_t capacity;
    size_t tensors; /* of the file, which those that are taken are made of */
} load_report;

/* Adds weight `name`, which outlives the report; `there` NULL: the file has none.  [control] */
TUTTI_NODISCARD tutti_status load_report_add(load_report *r, const char *name,
                                             const tutti_desc *here, const tutti_tensor *there,
                                             int verdict, tutti_error *err);
void load_report_fini(load_report *r);

size_t load_report_count(const load_report *r, int verdict);
/* What is wrong with the file, at `path`: with `strict` one weight that does not fit, else that none is taken
 * though the run has some.  E_NOTFOUND, E_SHAPE. */
TUTTI_NODISCARD tutti_status load_report_judge(const load_report *r, const char *path,
                                               const checkpoint *c, bool strict,
                                               tutti_error *err);
/* Where something of the run was not taken: a table, one message a line, parts of the model first, then each weight
 * with the reason; of a name that the file does not have, the nearest that nobody took.  Sorts
 * the rows. */
void load_report_tell(load_report *r, const char *path, const checkpoint *c, run_log *log);

#endif
