/* rank_batches.h - the part of the data that is this rank's; all of it in a run without "distributed". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_RANK_BATCHES_H
#define HOST_TRAIN_TRAINER_RANK_BATCHES_H

#include "train/step/trainer_state.h"

/* Once data and ranks are there.  [control] */
void rank_batches_open(trainer *t);
/* One evaluation: begin before its data are sought; for each batch evaluates, whether this rank computes it, and next,
 * which takes the metrics' sums of the batch away; end, with the status of all that: the metrics have the sums of
 * all batches, in their order.  A failure of any rank is that of all.  [step] */
TUTTI_NODISCARD tutti_status rank_begin_evaluation(trainer *t, data_source *e,
                                                   tutti_error *err);
bool rank_evaluates(const trainer *t);
void rank_next_evaluation_batch(trainer *t);
TUTTI_NODISCARD tutti_status rank_end_evaluation(trainer *t, tutti_status status,
                                                 tutti_error *err);

#endif
