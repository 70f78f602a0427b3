/* step_tensors.h - the tensors that plugins see by name: columns of the batch, outputs, loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_STEP_TENSORS_H
#define HOST_TRAIN_CONTEXT_STEP_TENSORS_H

#include "train/context/batch.h"

enum { PHASE_IDLE, PHASE_BATCH, PHASE_MICROBATCH, PHASE_EVAL, PHASE_EVAL_PART };
enum { STEP_OUTPUTS = 2, FORWARD_OUTPUTS = 16 };

typedef struct step_tensors {
    run_context *run;
    host_mirrors *mirrors;
    int phase; /* PHASE_* */
    batch whole;
    batch micro;
    batch eval;
    batch eval_part;         /* the one under way, where `eval` does not go at once */
    int64_t microbatch_size; /* samples at a time; "auto" may make it smaller */
    uint32_t microbatch;     /* index of the current one */
    uint32_t noutputs;
    slot outputs[STEP_OUTPUTS]; /* of the plan under way; no data: it keeps them in 16 bits */
    plan *outputs_of;           /* that plan, for who asks for them */
    slot loss;
    host_mirror forward[FORWARD_OUTPUTS]; /* of outputs that tutti.train/1 has given */
    /* Called before a plugin sees a tensor of a batch or of an evaluation, of which a part alone may be there;
     * NULL: all is there always. */
    tutti_status (*complete)(void *ctx, tutti_error *err);
    void *complete_ctx;
} step_tensors;

void tensors_init(step_tensors *x, run_context *run, host_mirrors *mirrors);
void tensors_fini(step_tensors *x);

/* The batch that `get` and `set` of the state mean now. */
batch *tensors_batch(step_tensors *x);
/* What the state calls `name`.  Errors: E_NOTFOUND there is none now; those of `complete`.  [step] */
TUTTI_NODISCARD tutti_status tensors_find(step_tensors *x, const char *name, slot **ret_slot,
                                          tutti_error *err);
/* Whether a plan computes it, so that it stays where it is. */
bool tensors_is_result(const step_tensors *x, const slot *s);
/* Takes up the plan's outputs and loss. */
void tensors_publish_outputs(step_tensors *x, plan *p);
void tensors_publish(step_tensors *x, plan *p);
/* Batch, outputs and loss are no longer the state's. */
void tensors_end_batch(step_tensors *x);
/* The loss of now; waits for it. */
TUTTI_NODISCARD tutti_status tensors_read_loss(const step_tensors *x, double *ret_loss,
                                               tutti_error *err);
/* What `who` (as host_mirrors.who) sees of a column, and of all outputs, on the host. */
TUTTI_NODISCARD tutti_status tensors_mirror_column(step_tensors *x, const char *who, slot *s,
                                                   tutti_tensor *ret_column, tutti_error *err);
TUTTI_NODISCARD tutti_status tensors_mirror_outputs(step_tensors *x, const char *who,
                                                    tutti_tensor *ret_outputs,
                                                    tutti_error *err);

#endif
