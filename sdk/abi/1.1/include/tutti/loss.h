/* loss.h - tutti.loss/1: another loss in the place of the model's, or around it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOSS_H
#define TUTTI_LOSS_H

#include "model.h"

TUTTI_C_BEGIN

#define TUTTI_LOSS_V1 "tutti.loss/1"

/* What a loss is made of: values of one graph, for one microbatch of B samples.  The host owns it and all that
 * it points at; valid for the call. */
typedef struct tutti_loss_input {
    uint32_t struct_size;
    int32_t reduction; /* TUTTI_REDUCTION_* */
    /* The model's, (B, ...) each, in its order. */
    const tutti_value *outputs;
    /* As tutti.model/1's loss gets them: the dataset's, or what an algorithm has made of them. */
    const tutti_value *targets;
    uint32_t noutputs;
    uint32_t ntargets;
    void *ctx; /* the host's; pass it to `below` */
    /* Emits the loss that there would be without this object: the model's, that of the object which the run file
     * names as "loss", or that of the algorithm named before this one.  Outputs and targets may be others, in the same number and order; any
     * reduction.  May be called any number of times, or not at all.  0 after an error, which the graph keeps.
     * [control] */
    tutti_value (*below)(void *ctx, tutti_graph *g, const tutti_value *outputs,
                         uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                         int32_t reduction);
} tutti_loss_input;

/* Provided by an object of kind "loss", which a run file names in the model's place: training and evaluation both
 * have it.  Provided by an algorithm it is around that loss, or the model's, in training alone. */
typedef struct tutti_loss_v1 {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    /* Emits the loss: one F32 number (MEAN), or one a sample, (B) (NONE), for what wants to weigh samples.  Outputs
     * and targets that do not fit are an error of the graph (g->fail), whose sentence says what would.  The host differentiates it, so every operation on the way from the outputs needs a gradient.
     * Called once for each shape of a batch; what changes from step to step is a buffer of a module (g->weight),
     * not a member of the object.  [control] */
    tutti_value (*loss)(void *self, tutti_graph *g, const tutti_loss_input *in);
} tutti_loss_v1;

TUTTI_C_END
#endif
