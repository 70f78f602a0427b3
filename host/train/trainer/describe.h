/* describe.h - what a run is, for who tells it to people. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_DESCRIBE_H
#define HOST_TRAIN_TRAINER_DESCRIBE_H

#include "train/context/step_profile.h"
#include "train/trainer/trainer.h"

/* Texts are borrowed from the trainer. */
typedef struct run_facts {
    int64_t parameters; /* of the model, without buffers */
    int64_t trained;    /* of these, not frozen */
    uint32_t weights;   /* tensors that they are in */
    uint32_t slots;     /* of the optimizer: numbers that it keeps for each that is trained */
    int threads;
    const char *device; /* "cpu" */
    const char *folder; /* absolute; of what the run writes, may not be there */
} run_facts;

/* One set of data. */
typedef struct data_facts {
    const char *label;   /* "train", or the evaluation's */
    const char *dataset; /* the object's name */
    int64_t samples;     /* before transforms */
    int64_t batches;     /* of one pass; -1: not known */
    int64_t batch_size;
} data_facts;

/* As things are now: surgery happens before the first batch.  [control] */
run_facts trainer_facts(const trainer *t);
/* The training data, then each evaluation's; false past the last. */
bool trainer_data(const trainer *t, size_t k, data_facts *ret_facts);
/* The k-th algorithm in the order of the run file; NULL past the last. */
const char *trainer_algorithm(const trainer *t, size_t k);
/* The newest checkpoint, borrowed until the next call; NULL: there is none, or nobody who knows.  [control] */
const char *trainer_newest_checkpoint(const trainer *t);
/* Where each logger that names a place has logged to; texts are borrowed for the call.  [control] */
void trainer_log_locations(const trainer *t,
                           void (*tell)(void *ctx, const char *logger, const char *location),
                           void *ctx);

/* Before the first fit of a run with a profiler: the operations of its plans are observed too.  Errors: E_UNSUPPORTED they
 * run on a device, where the host does not see their time.  [control] */
TUTTI_NODISCARD tutti_status trainer_profile_steps(trainer *t, tutti_error *err);
/* What was measured so far; borrowed.  NULL without a profiler, or without operations. */
const profiler *trainer_profiler(const trainer *t);
const step_profile *trainer_steps(const trainer *t);
int trainer_threads(const trainer *t); /* that kernels compute with */

/* Once, when everything is open and loaded, before the first batch of any kind: `begun` may ask for the above. */
void trainer_on_begin(trainer *t, void (*begun)(void *ctx, const trainer *t), void *ctx);

/* Whenever the run knows more of how its device runs it, on rank 0: `key` is "libraries" or "graphs". */
void trainer_on_fact(trainer *t, void (*tell)(void *ctx, const char *key, const char *text),
                     void *ctx);

#endif
