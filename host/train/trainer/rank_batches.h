/* rank_batches.h - the part of the data that is this rank's; all of it in a run without "distributed". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_RANK_BATCHES_H
#define HOST_TRAIN_TRAINER_RANK_BATCHES_H

#include "train/data/data_source.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Once data and ranks are there.  [control] */
void rank_batches_open(trainer *t);
/* What ranks compute together is over; plugins that are still open see the ranks as before.  [control] */
void rank_batches_close(trainer *t);
/* Leaves the other ranks, once all objects but the comm are closed.  [control] */
void rank_batches_leave(trainer *t);
/* Once all is open: that ranks run the same, with as many samples, as distributed_compare.  [control] */
TUTTI_NODISCARD tutti_status rank_batches_compare(trainer *t, tutti_error *err);
/* One evaluation: begin before its data are sought; for each batch evaluates, whether this rank computes it, and next,
 * which takes the metrics' sums of the batch away; `compute`
 * is called with the trainer where somebody asks for outputs of a batch of another rank; end, with the status of all that: the metrics have the sums of
 * all batches, in their order.  A failure of any rank is that of all.  [step] */
TUTTI_NODISCARD tutti_status rank_begin_evaluation(trainer *t, data_source *e,
                                                   tutti_status (*compute)(void *ctx,
                                                                           tutti_error *err),
                                                   tutti_error *err);
/* A prediction: ranks compute batches in turn.  Begin before its data are sought; evaluates for each batch.  [step] */
void rank_begin_prediction(trainer *t, data_source *e,
                           tutti_status (*compute)(void *ctx, tutti_error *err));
void rank_end_prediction(trainer *t);
bool rank_evaluates(const trainer *t);
/* Whether a batch has ended with `status` because of a signal that not all ranks have accepted: it counts as one that this rank
 * does not evaluate. */
bool rank_leaves_batch(trainer *t, tutti_status status);
TUTTI_NODISCARD tutti_status rank_next_evaluation_batch(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status rank_end_evaluation(trainer *t, tutti_status status,
                                                 tutti_error *err);

#endif
