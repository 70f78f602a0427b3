/* record_start.h - what the record keeps of a run from its beginning on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_RECORD_START_H
#define HOST_TRAIN_RECORD_RECORD_START_H

#include "train/step/trainer_state.h"

/* Sets the run file and the time of the record that is to lie at `path` and, where the run is taken up, how it once
 * began, by the record that lies there.  Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status record_start(trainer *t, const char *path, tutti_error *err);
/* Unix seconds. */
double record_clock(void);

#endif
