/* events.h - the events of both engines, once, as a table. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_EVENTS_H
#define TUTTI_EVENTS_H

/* Composer's events in its order: NAME, value, canonical name (the before/after partners share
 * it), side (B before, A after, N neither).  The value is the name in lower case. */
#define TUTTI_COMPOSER_EVENTS(X)                                                               \
    X(INIT, "init", "init", N)                                                                 \
    X(BEFORE_LOAD, "before_load", "load", B)                                                   \
    X(AFTER_LOAD, "after_load", "load", A)                                                     \
    X(FIT_START, "fit_start", "fit", B)                                                        \
    X(ITERATION_START, "iteration_start", "iteration", B)                                      \
    X(EPOCH_START, "epoch_start", "epoch", B)                                                  \
    X(BEFORE_DATALOADER, "before_dataloader", "dataloader", B)                                 \
    X(AFTER_DATALOADER, "after_dataloader", "dataloader", A)                                   \
    X(BATCH_START, "batch_start", "batch", B)                                                  \
    X(BEFORE_TRAIN_BATCH, "before_train_batch", "train_batch", B)                              \
    X(BEFORE_FORWARD, "before_forward", "forward", B)                                          \
    X(AFTER_FORWARD, "after_forward", "forward", A)                                            \
    X(BEFORE_LOSS, "before_loss", "loss", B)                                                   \
    X(AFTER_LOSS, "after_loss", "loss", A)                                                     \
    X(BEFORE_BACKWARD, "before_backward", "backward", B)                                       \
    X(AFTER_BACKWARD, "after_backward", "backward", A)                                         \
    X(AFTER_TRAIN_BATCH, "after_train_batch", "train_batch", A)                                \
    X(BATCH_END, "batch_end", "batch", A)                                                      \
    X(BATCH_CHECKPOINT, "batch_checkpoint", "batch_checkpoint", N)                             \
    X(EPOCH_END, "epoch_end", "epoch", A)                                                      \
    X(EPOCH_CHECKPOINT, "epoch_checkpoint", "epoch_checkpoint", N)                             \
    X(ITERATION_END, "iteration_end", "iteration", A)                                          \
    X(ITERATION_CHECKPOINT, "iteration_checkpoint", "iteration_checkpoint", N)                 \
    X(FIT_END, "fit_end", "fit", A)                                                            \
    X(EVAL_BEFORE_ALL, "eval_before_all", "eval_all", B)                                       \
    X(EVAL_START, "eval_start", "eval", B)                                                     \
    X(EVAL_BATCH_START, "eval_batch_start", "eval_batch", B)                                   \
    X(EVAL_BEFORE_FORWARD, "eval_before_forward", "eval_forward", B)                           \
    X(EVAL_AFTER_FORWARD, "eval_after_forward", "eval_forward", A)                             \
    X(EVAL_BATCH_END, "eval_batch_end", "eval_batch", A)                                       \
    X(EVAL_END, "eval_end", "eval", A)                                                         \
    X(EVAL_AFTER_ALL, "eval_after_all", "eval_all", A)                                         \
    X(EVAL_STANDALONE_START, "eval_standalone_start", "eval_standalone", B)                    \
    X(EVAL_STANDALONE_END, "eval_standalone_end", "eval_standalone", A)                        \
    X(PREDICT_START, "predict_start", "predict", B)                                            \
    X(PREDICT_BATCH_START, "predict_batch_start", "predict_batch", B)                          \
    X(PREDICT_BEFORE_FORWARD, "predict_before_forward", "predict_forward", B)                  \
    X(PREDICT_AFTER_FORWARD, "predict_after_forward", "predict_forward", A)                    \
    X(PREDICT_BATCH_END, "predict_batch_end", "predict_batch", A)                              \
    X(PREDICT_END, "predict_end", "predict", A)

/* Ignite's 13 events: NAME, value, trace code.  EPOCH_ and ITERATION_ names do not clash with
 * Composer's: those say START and END. */
#define TUTTI_IGNITE_EVENTS(X)                                                                 \
    X(STARTED, "started", "S")                                                                 \
    X(EPOCH_STARTED, "epoch_started", "ES")                                                    \
    X(GET_BATCH_STARTED, "get_batch_started", "BS")                                            \
    X(GET_BATCH_COMPLETED, "get_batch_completed", "BC")                                        \
    X(ITERATION_STARTED, "iteration_started", "IS")                                            \
    X(ITERATION_COMPLETED, "iteration_completed", "IC")                                        \
    X(DATALOADER_STOP_ITERATION, "dataloader_stop_iteration", "DS")                            \
    X(TERMINATE_SINGLE_EPOCH, "terminate_single_epoch", "TE")                                  \
    X(TERMINATE, "terminate", "T")                                                             \
    X(INTERRUPT, "interrupt", "I")                                                             \
    X(EPOCH_COMPLETED, "epoch_completed", "EC")                                                \
    X(EXCEPTION_RAISED, "exception_raised", "X")                                               \
    X(COMPLETED, "completed", "C")

enum {
#define TUTTI_X(name, value, canonical, side) TUTTI_EVENT_##name,
    TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
        TUTTI_IGNITE_FIRST = 64,
    TUTTI_IGNITE_BEFORE_FIRST = TUTTI_IGNITE_FIRST - 1,
#define TUTTI_X(name, value, code) TUTTI_EVENT_##name,
    TUTTI_IGNITE_EVENTS(TUTTI_X)
#undef TUTTI_X
        TUTTI_EVENT_CUSTOM = 128 /* a manifest's own events are numbered from here at load */
};

#endif
