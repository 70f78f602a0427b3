/* memory_report.h - what the memory of a run goes to, for its record. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RECORD_MEMORY_REPORT_H
#define HOST_TRAIN_RECORD_MEMORY_REPORT_H

#include "graph/plan/plan.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Bytes of a training step on this process, as a JSON object (README.md); the caller frees it.  `p` is the plan of a
 * microbatch.  NULL: no memory.  [control] */
char *memory_text(const trainer *t, const plan *p);

#endif
