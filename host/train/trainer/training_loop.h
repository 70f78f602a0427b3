/* training_loop.h - a training run in pieces: what it does between its events, for a loop that fires them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_TRAINING_LOOP_H
#define HOST_TRAIN_TRAINER_TRAINING_LOOP_H

#include "train/trainer/trainer.h"

/* All of these are [step] unless they say otherwise. */

/* Before all others: INIT, weights, the checkpoint (NULL, "auto" or a path), the load events.  `accept_bits` as in
 * fit_options.  [control] */
TUTTI_NODISCARD tutti_status training_begin(trainer *t, const char *resume, bool accept_bits,
                                            tutti_error *err);

/* Services that the trainer does not have; `answer` is asked with `ctx`.  NULL ends it.  [control] */
void training_serve(trainer *t, const void *(*answer)(void *ctx, const char *interface_id),
                    void *ctx);

/* What a checkpoint keeps for the caller, as a text: `save` makes it, to be freed with free(); `load` gets
 * it back, or NULL when the checkpoint at `path` has none.  NULL ends both.  [control] */
void training_on_checkpoint(trainer *t,
                            tutti_status (*save)(void *ctx, char **ret_text, tutti_error *err),
                            tutti_status (*load)(void *ctx, const char *path, const char *text,
                                                 tutti_error *err),
                            void *ctx);

/* Runs an event of training together with Ignite's at the same point, or one alone. */
TUTTI_NODISCARD tutti_status training_event(trainer *t, int32_t event, tutti_error *err);
bool training_is_stopped(const trainer *t); /* by stop_training */

/* Batches of one pass over the training data; -1: there are none.  Which comes next, and loading it: 0
 * samples at the end of the pass. */
int64_t training_batches(const trainer *t);
TUTTI_NODISCARD tutti_status training_seek(trainer *t, int64_t pass, int64_t number,
                                           tutti_error *err);
TUTTI_NODISCARD tutti_status training_next(trainer *t, int64_t *ret_samples, tutti_error *err);

/* The training plans, so that one too large for this machine is refused, or made smaller, before any
 * step.  [control] */
TUTTI_NODISCARD tutti_status training_plan(trainer *t, tutti_error *err);

/* The batch that is loaded becomes the state's; and what it adds to the clocks. */
typedef struct training_batch {
    int64_t samples;
    int64_t tokens;
} training_batch;
void training_begin_batch(trainer *t, int64_t samples, training_batch *ret_batch);
void training_start_clock(trainer *t); /* when training begins */
/* A training step of the loaded batch, and its loss; that of a device is waited for. */
TUTTI_NODISCARD tutti_status training_step(trainer *t, tutti_error *err);
double training_loss(trainer *t); /* NaN before the first */
/* The clocks move on behind the step, before batch_end. */
void training_count_batch(trainer *t, const training_batch *b);
/* Behind batch_end: batch, outputs and loss are no longer the state's. */
void training_end_batch(trainer *t);
/* Before epoch_end: metrics are complete, schedules by epochs and the clocks move on. */
TUTTI_NODISCARD tutti_status training_end_epoch(trainer *t, tutti_error *err);

/* Losses and metrics that a device still has are logged. */
TUTTI_NODISCARD tutti_status training_flush(trainer *t, tutti_error *err);
/* The same, and all weights on all ranks, which call it together.  [step] */
TUTTI_NODISCARD tutti_status training_gather(trainer *t, tutti_error *err);
/* Once training is over: E_NUMERIC, or a warning, where weights are not finite or the last updates were left
 * out. */
TUTTI_NODISCARD tutti_status training_check(trainer *t, tutti_error *err);
/* Behind epoch_end: what surgery has changed fits again. */
TUTTI_NODISCARD tutti_status training_refit(trainer *t, tutti_error *err);

/* To the loggers.  The begin of an epoch or a batch that the log of a checkpoint has, as the run was stopped within that
 * batch or before it, is not logged again. */
void training_log(trainer *t, const tutti_named_value *values, uint32_t n);
void training_log_epoch(trainer *t);
/* The run goes on from a state that is no checkpoint's: all of it is logged. */
void training_log_anew(trainer *t);
/* One of a checkpoint, which no logger hears. */
void training_restore_value(trainer *t, const tutti_named_value *value);
void training_message(trainer *t, int level, const char *component, const char *text);
/* Logs the counters: those of tokens only where there are any, the epoch only at the end. */
void training_log_time(trainer *t, bool tokens, bool end);

/* Which data training_next loads: "train" or an evaluation's label.  Its batches begin at the next seek.
 * E_NOTFOUND. */
TUTTI_NODISCARD tutti_status training_use_data(trainer *t, const char *label, tutti_error *err);
/* Runs the evaluation of that label.  E_NOTFOUND; E_STATE inside an evaluation, or its data are the loop's. */
TUTTI_NODISCARD tutti_status training_evaluate(trainer *t, const char *label, tutti_error *err);
/* Whether the run stops with an evaluation that is not done: what is saved at the end of its batch or epoch comes behind
 * it, when the run goes on.  [step] */
bool training_owes_evaluations(const trainer *t);
/* Of a run that is taken up, behind its first event: the evaluations that it owes, then the handlers that wait for them
 * (engine_hold).  Unless a signal stops it again.  [step] */
TUTTI_NODISCARD tutti_status training_evaluate_owed(trainer *t, tutti_error *err);
/* Behind that: the checkpoint event that was to follow.  [step] */
TUTTI_NODISCARD tutti_status training_save_owed(trainer *t, tutti_error *err);

/* The run's saver, if there is one, saves what is not saved yet.  [control] */
TUTTI_NODISCARD tutti_status training_save(trainer *t, tutti_error *err);
/* After a caught signal: what is not saved yet is saved by the run's saver, but for a run that has trained no batch, or whose
 * objects have not all heard FIT_START: their files are not where a checkpoint has them.  E_INTERRUPTED, or the saver's
 * error.  [control] */
TUTTI_NODISCARD tutti_status training_stop_by_signal(trainer *t, tutti_error *err);
/* Where a signal has asked for a checkpoint since the last call, the run's saver saves; a warning where there is none. */
TUTTI_NODISCARD tutti_status training_save_asked(trainer *t, tutti_error *err);
/* Of a run that is taken up by "auto", and had been stopped by stop_training when a signal came: it stops again behind what
 * it owes.  [control] */
void training_stop_again(trainer *t);
/* Of a run that is taken up by "auto": whether no attempt before it has come to an end there, so that what had ended the run
 * when the checkpoint was written ends it again.  [control] */
bool training_is_midway(const trainer *t);
/* Of a run that is taken up by "auto": whether it has come to its end already, wherever that was, such as by stop_training.
 * It then ends with an error that says so.  [control] */
bool training_has_ended(trainer *t);
/* Of a run that is taken up and has reached its limit: whether nothing is left, so that it ends with an error that says so.
 * Where the record of the run tells that no attempt has come to its end, what comes behind the last batch is still to be
 * done.  [control] */
bool training_is_over(trainer *t);
/* The run ends with `status`: other ranks are told of a failure.  [control] */
void training_over(trainer *t, tutti_status status);

/* Ranks of a run with "distributed", at least 1; 0 without.  [any] */
int32_t training_ranks(const trainer *t);
/* `all` gets what every rank has in `mine`, by rank: at most FRAME_BYTES of rank_calls.h each.  Only with ranks, which all
 * call it behind the same event of the loop; who waits for this one hears that it is there.  Errors: E_STATE names a rank
 * that has ended or does not come; E_ARG one that is behind another event, or calls an operation of tutti.ranks/1. */
TUTTI_NODISCARD tutti_status training_exchange(trainer *t, int32_t event, const void *mine,
                                               void *all, uint64_t bytes, tutti_error *err);
/* The first failure of any rank becomes that of all; `status` without ranks. */
TUTTI_NODISCARD tutti_status training_agree(trainer *t, tutti_status status, tutti_error *err);

#endif
