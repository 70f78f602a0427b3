/* state.h - tutti.state/1: clocks, batch, outputs and loss of the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_STATE_H
#define TUTTI_STATE_H

#include "tensor.h"
#include "time.h"

TUTTI_C_BEGIN

#define TUTTI_STATE_V1 "tutti.state/1"

/* One set of the run's data. */
typedef struct tutti_data {
    uint32_t struct_size;
    uint32_t reserved;
    const char *label;  /* "train", or the evaluation's; lives as long as the run */
    int64_t samples;    /* before transforms; 0: nothing is loaded */
    int64_t batch_size; /* over all processes */
} tutti_data;

/* The run as it is now.  Tensor names: a batch column ("input", "target", or its number "0", "1"),
 * "outputs" (the model's first; "outputs.1" the second), "loss" (scalar f32).  In the microbatch
 * events a batch column is the current microbatch's. */
typedef struct tutti_state_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    const tutti_timestamp *time;      /* live, never NULL */
    const tutti_timestamp *eval_time; /* live, never NULL */
    const tutti_time *max_duration;   /* live; unit NONE before it is known */
    const uint64_t *seed;
    /* Fraction of max_duration that has passed; -1 when it is not known.  [step] */
    double (*elapsed)(void *ctx);
    /* Batches in an epoch of the current data; -1 when not known.  [step] */
    int64_t (*dataloader_len)(void *ctx);
    /* Label of the evaluation under way ("eval"); NULL outside evaluation.  [step] */
    const char *(*eval_label)(void *ctx);
    /* A view on the host, valid until the event ends; writing to it changes the state.  The first look at
     * what a device has computed waits for it.  NOTFOUND says which names there are now.  [step] */
    tutti_status (*get)(void *ctx, const char *name, tutti_tensor *ret_view, tutti_error *err);
    /* Replaces a batch column (or "outputs", "loss") by a copy of `t`, of any shape: fewer
     * samples, soft targets, smaller images.  Only inside apply and run_event.  [step] */
    tutti_status (*set)(void *ctx, const char *name, const tutti_tensor *t, tutti_error *err);
    /* Training ends after the current batch; `reason` is logged.  [step] */
    void (*stop_training)(void *ctx, const char *reason);
    const uint32_t *microbatch; /* live: index of the current microbatch in its batch */
    const tutti_timestamp *predict_time; /* live; of the prediction under way or the last one */
    const tutti_time *iteration_length;  /* unit NONE: one iteration without end */
    /* The time before the latest batch; NULL before the first.  [step] */
    const tutti_timestamp *(*previous)(void *ctx);
    /* "train", an evaluation's label, or "predict": whose data `dataloader_len` counts.  [step] */
    const char *(*dataloader_label)(void *ctx);
    /* Samples of a microbatch; "auto" may make it smaller between batches.  [step] */
    int64_t (*microbatch_size)(void *ctx);
    const char *(*run_name)(void *ctx);  /* never NULL; [any] */
    const char *(*precision)(void *ctx); /* "fp32", "amp_bf16" ...; [any] */
    const char *(*device)(void *ctx);    /* "cpu" or a device's name; [any] */
    /* The training data for k = 0, then each evaluation's; 0 past the last, with *ret_data as it was.
     * [step] */
    int32_t (*data)(void *ctx, uint32_t k, tutti_data *ret_data);
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: 1 at the EVAL_END of an evaluation that a signal has cut, and at EVAL_AFTER_ALL where one was cut or did
     * not begin; else 0.  Its metrics are not logged: the values of their names are older ones, or there are none.  A run
     * that goes on from what is saved then does it from its first batch.  [step] */
    int32_t (*eval_cut)(void *ctx);
#endif
} tutti_state_v1;

#if TUTTI_USE_MINOR >= 2
/* since 1.2: what eval_cut says; 0 of an older host.  [step] */
static inline int tutti_eval_is_cut(const tutti_state_v1 *s)
{
    return TUTTI_HAS(s, tutti_state_v1, eval_cut) && s->eval_cut && s->eval_cut(s->ctx);
}
#endif

TUTTI_C_END
#endif
