/* device_report.h - what a run tells of its device: libraries, what runs without them, graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_DEVICE_REPORT_H
#define HOST_TRAIN_STEP_DEVICE_REPORT_H

#include "graph/plan/plan.h"

typedef struct trainer trainer; /* step/trainer_state.h */

enum { DEVICE_REPORT_TEXT = 640 };

/* "9 steps by cuBLASLt 13.1.0, 3 by cuDNN 9.19.0, 2 by own kernels; F32 without TF32"; "" where no kernel tells. */
void device_report_libraries(const trainer *t, const plan *p, char text[DEVICE_REPORT_TEXT]);
/* Tells that, and each reason why something runs without a library that is meant for it, as a warning.  [control] */
void device_report_plan(trainer *t, const plan *p);
/* Tells of graphs that were gathered, and of work that could not be, since the last call.  Cheap where there is
 * nothing new.  [step] */
void device_report_graphs(trainer *t);

#endif
