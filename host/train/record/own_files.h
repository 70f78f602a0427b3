/* own_files.h - paths that processes of a run have taken for its files, noted in the run's folder for those that follow. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_OWN_FILES_H
#define HOST_TRAIN_RECORD_OWN_FILES_H

#include "train/context/run_context.h"

#define OWN_FILES_NAME ".own" /* in the run's folder: a path a line; "./" is that folder */

typedef struct own_files {
    char *notes;  /* paths that processes have noted, one a line; NULL: none */
    bool follows; /* this one takes up what they began */
} own_files;

/* Once the folder is this run's: reads the notes.  `follows` says that it takes up, by --resume auto, what earlier processes
 * began; to another run they say nothing, and stay, since it may be refused.  [control] */
void own_files_begin(own_files *o, const run_context *run, bool follows);
/* Notes a path, once; a note that cannot be written is a warning.  Errors: E_RANGE, E_ARG a path with a line break.  [step] */
TUTTI_NODISCARD tutti_status own_files_add(const own_files *o, run_context *run,
                                           const char *path, tutti_error *err);
/* Whether a process before this one, which follows it, has noted the path.  [step] */
bool own_files_have(const own_files *o, const run_context *run, const char *path);
void own_files_fini(own_files *o);

#endif
