/* plan_files.h - where a plan's results lie in memory, as files: for callbacks that look at memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FILES_H
#define PLAN_FILES_H

#include "tutti/checkpoint.h"
#include "tutti/files.h"
#include "tutti/log.h"
#include "tutti/plan.h"
#include "tutti/tutti.h"

#include <stdbool.h>

enum { PLAN_FILES_PATH = 1024 };

typedef struct plan_files {
    const char *who; /* the callback; begins sentences */
    const tutti_plan_v1 *plan;
    const tutti_checkpoint_v1 *checkpoint;
    int64_t max_entries;
    const char *filename;       /* with {run_name}, {rank}, {epoch}, {batch} */
    const char *remote_name;    /* likewise; NULL: files stay here */
    const tutti_files_v1 *sent; /* NULL: this host sends none */
    const tutti_log_v1 *log;    /* may be NULL */
    int32_t rank;
    bool overwrite;
    bool goes_on; /* the run does, from a checkpoint: files in the folder are its own */
    char folder[PLAN_FILES_PATH];
} plan_files;

/* Of the settings max_entries, folder (relative to the run's), filename, remote_file_name and overwrite.  [control] */
TUTTI_NODISCARD tutti_status plan_files_init(plan_files *m, const char *who,
                                             const tutti_host *host, const tutti_params *params,
                                             tutti_error *err);
/* Whether the filename is one.  [any] */
TUTTI_NODISCARD tutti_status plan_files_check(const char *who, const tutti_params *params,
                                              tutti_error *err);
/* Once a checkpoint has been taken, if any, with the time of the run: rank 0 makes the folder.  Unless files may be written
 * over, it is empty in a run that begins; one that goes on writes over its own.  [step] */
TUTTI_NODISCARD tutti_status plan_files_claim(plan_files *m, const tutti_timestamp *now,
                                              tutti_error *err);
/* Whether there is a FOLDER/FILENAME with `end` behind it.  [step] */
bool plan_files_exists(const plan_files *m, const tutti_timestamp *t, const char *end);

/* FOLDER/FILENAME with `end` behind it: what `facts` and the plan's results are, behind the JSON members `members`
 * ("\"text\": 1, "; may be empty).  [step] */
TUTTI_NODISCARD tutti_status plan_files_json(const plan_files *m, const tutti_timestamp *t,
                                             const char *end, const char *members,
                                             const tutti_plan_facts *facts, tutti_error *err);
/* The same as a picture in a page of HTML.  [step] */
TUTTI_NODISCARD tutti_status plan_files_picture(const plan_files *m, const tutti_timestamp *t,
                                                const char *end, const tutti_plan_facts *facts,
                                                tutti_error *err);

#endif
