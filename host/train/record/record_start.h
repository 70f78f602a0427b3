/* record_start.h - what the record keeps of a run from its beginning on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_RECORD_START_H
#define HOST_TRAIN_RECORD_RECORD_START_H

#include "train/record/record.h"
#include "train/run_file/run_file.h"

/* Sets the run file and the time of the record `r` that is to lie at `path` and, where the run is taken up, how it once
 * began, by the record that lies there.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status record_start(run_record *r, const run_file *file, const char *path,
                                          tutti_error *err);
/* Unix seconds. */
double record_clock(void);

#endif
