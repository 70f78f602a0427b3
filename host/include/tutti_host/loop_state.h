/* loop_state.h - what a loop works on and keeps: data, counters, attributes, metrics, its generator; all but data as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_LOOP_STATE_H
#define TUTTI_HOST_LOOP_STATE_H

#include "tutti/base.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

typedef struct tutti_loop tutti_loop; /* opaque */

/* A number that is not there: no limit, unknown length.  An explicit 0 is a different thing. */
#define TUTTI_LOOP_NONE INT64_MIN

/* What `next` of a data source returns at its end.  Of a handler of get_batch_* too: then the data counts as exhausted. */
#define TUTTI_LOOP_END ((tutti_status)1)

/* Where batches come from.  It serves one loop at a time, and must live until the run is over. */
typedef struct tutti_loop_data {
    void *ctx;
    /* How many batches from one restart to the end; NULL or a negative answer: unknown. */
    int64_t (*length)(void *ctx);
    /* Goes back to the first batch.  NULL: cannot, the source goes on where it is (an iterator). */
    tutti_status (*restart)(void *ctx, tutti_error *err);
    /* The next batch, borrowed until the next call; OK, TUTTI_LOOP_END, or an error. */
    tutti_status (*next)(void *ctx, void **ret_batch, tutti_error *err);
    /* After restart: the next batch is number `position`, from 0.  May be NULL: then a deterministic
     * loop that resumes fetches and drops so many. */
    tutti_status (*seek)(void *ctx, int64_t position, tutti_error *err);
} tutti_loop_data;

/* The state of a run.  Handlers may change every field: a raised max_epochs prolongs the run, a new `batch` in
 * iteration_started is what is processed, a new `data` is taken up at the next end of data.  It outlives runs. */
typedef struct tutti_loop_state {
    int64_t iteration;    /* batches so far, over all epochs; from 1 during an iteration */
    int64_t epoch;        /* from 1 during an epoch */
    int64_t epoch_length; /* batches in an epoch; NONE until known */
    int64_t max_epochs;   /* the limit in force, the other is NONE */
    int64_t max_iters;
    void *batch;                 /* NULL while the next one is fetched */
    void *output;                /* of the latest process call; NULL while a batch is fetched */
    const tutti_loop_data *data; /* NULL: none */
    int64_t seed;                /* NONE unless the run has one */
    double epoch_seconds;        /* of the latest epoch, with its handlers once they ran */
    double total_seconds;        /* of the run; includes the time it stood interrupted */
} tutti_loop_state;

/* Borrowed for the loop's life. */
tutti_loop_state *tutti_loop_get_state(tutti_loop *loop);

/* Attributes of the state, by name: whole numbers, reals, or texts (copied).  They survive runs.
 * `get` is NULL when there is none; the pointer lives as long as the loop. */
enum { TUTTI_LOOP_NULL, TUTTI_LOOP_INT, TUTTI_LOOP_REAL, TUTTI_LOOP_TEXT };
typedef struct tutti_loop_value {
    int32_t type;
    int32_t reserved;
    int64_t integer;
    double real;
    const char *text;
} tutti_loop_value;
TUTTI_NODISCARD tutti_status tutti_loop_set(tutti_loop *loop, const char *name,
                                            const tutti_loop_value *value, tutti_error *err);
const tutti_loop_value *tutti_loop_get(const tutti_loop *loop, const char *name);
/* Metrics likewise; NaN when there is none of this name. */
TUTTI_NODISCARD tutti_status tutti_loop_set_metric(tutti_loop *loop, const char *name,
                                                   double value, tutti_error *err);
double tutti_loop_metric(const tutti_loop *loop, const char *name);

/* An attribute that state_dict writes and load_state_dict demands. */
TUTTI_NODISCARD tutti_status tutti_loop_save_attribute(tutti_loop *loop, const char *name,
                                                       tutti_error *err);

/* The state as JSON: epoch_length, iteration (or epoch, if `by_epoch`), the limit in force, the saved
 * attributes; of a deterministic loop rng_states.  The caller frees *ret_text with free().
 * E_NOTFOUND: a saved attribute that is not set.  [control] */
TUTTI_NODISCARD tutti_status tutti_loop_state_dict(tutti_loop *loop, int by_epoch,
                                                   char **ret_text, tutti_error *err);
/* Takes up such a text, from which extra keys are ignored; the state stays as it was on failure.  An
 * interrupted run is dropped.  E_FORMAT: no JSON; E_ARG: not an object, keys that are missing or
 * exclude each other, numbers out of range.  E_STATE while running. */
TUTTI_NODISCARD tutti_status tutti_loop_load_state_dict(tutti_loop *loop, const char *text,
                                                        tutti_error *err);

/* The loop's generator, which runs with a seed and deterministic loops reseed: at the start and at
 * every restart of the data, with seed + iteration / length. */
uint64_t tutti_loop_random(tutti_loop *loop);
void tutti_loop_seed(tutti_loop *loop, uint64_t seed);
typedef struct tutti_loop_rng {
    uint64_t key;
    uint64_t counter;
} tutti_loop_rng;
/* For work that must not disturb it, such as an evaluation: take it before, put it back after. */
tutti_loop_rng tutti_loop_get_rng(const tutti_loop *loop);
void tutti_loop_set_rng(tutti_loop *loop, tutti_loop_rng rng);

#pragma GCC visibility pop
TUTTI_C_END
#endif
