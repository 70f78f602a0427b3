/* loop.h - tutti.loop/1: the loop of `tutti run`, for its process function and handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOOP_H
#define TUTTI_LOOP_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_LOOP_V1 "tutti.loop/1"

/* The batch is tutti.state/1's: its columns by name. */
typedef struct tutti_loop_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Batches so far over all epochs, and epochs; from 1 while one is under way.  [step] */
    int64_t (*iteration)(void *ctx);
    int64_t (*epoch)(void *ctx);
    /* What the process function gives for this batch; NaN before it has.  [step] */
    void (*set_output)(void *ctx, double value);
    double (*output)(void *ctx);
    /* Ends the run or the epoch behind the event under way; `skip` leaves out completed, or
     * epoch_completed.  [step] */
    void (*terminate)(void *ctx, int32_t skip);
    void (*terminate_epoch)(void *ctx, int32_t skip);
    /* Suspends the run behind the event under way: the run's saver saves, the command ends, and
     * `--resume auto` goes on behind that event's iteration.  [step] */
    void (*interrupt)(void *ctx);
    /* TUTTI_LOOP_MAX_EPOCHS ..., -1: there is none.  A limit may be changed while the loop runs; E_ARG
     * below 1 but -1, or where the other limit is in force.  [step] */
    int64_t (*limit)(void *ctx, int32_t which);
    tutti_status (*set_limit)(void *ctx, int32_t which, int64_t value, tutti_error *err);
    /* The state as JSON, as Ignite's state_dict; borrowed until the next call, NULL: out of memory.
     * [step] */
    const char *(*state_dict)(void *ctx);
    /* The run leaves off behind the event under way and goes on from such a state: its iteration,
     * epoch_length and limit, the data from their beginning.  E_ARG, E_FORMAT: it is none.  [step] */
    tutti_status (*load_state_dict)(void *ctx, const char *json, tutti_error *err);
    /* From the next batch on they are those of an evaluation, by its label, or "train" again.
     * E_NOTFOUND.  [step] */
    tutti_status (*set_data)(void *ctx, const char *label, tutti_error *err);
    /* Inside exception_raised: what went wrong, borrowed; NULL elsewhere.  [step] */
    const tutti_error *(*exception)(void *ctx);
    /* Inside terminate_single_epoch: batches of the epoch that was cut; -1 elsewhere.  [step] */
    int64_t (*iter_counter)(void *ctx);
    /* What a supervised process does, for a process function: one training step of the batch; *ret_loss
     * (may be NULL) waits for a device.  E_UNSUPPORTED without a model; E_STATE elsewhere.  [step] */
    tutti_status (*train)(void *ctx, double *ret_loss, tutti_error *err);
    /* Runs the evaluation of this label now; its metrics are "metrics/<label>/<name>".  E_NOTFOUND;
     * E_STATE inside an evaluation.  [step] */
    tutti_status (*evaluate)(void *ctx, const char *label, tutti_error *err);
} tutti_loop_v1;

enum { TUTTI_LOOP_MAX_EPOCHS, TUTTI_LOOP_MAX_ITERS, TUTTI_LOOP_EPOCH_LENGTH };

TUTTI_C_END
#endif
