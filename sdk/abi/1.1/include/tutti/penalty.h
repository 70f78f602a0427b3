/* penalty.h - tutti.penalty/1: a term of the loss that is made of the loss's own gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_PENALTY_H
#define TUTTI_PENALTY_H

#include "graph.h"

TUTTI_C_BEGIN

#define TUTTI_PENALTY_V1 "tutti.penalty/1"

/* The loss of one microbatch and its gradients, as values of one graph. */
typedef struct tutti_penalty_input {
    uint32_t struct_size;
    uint32_t ninputs;
    uint32_t nweights;
    tutti_value loss;            /* a number: the mean over the samples */
    const tutti_value *dinputs;  /* by input of the model; 0 for those that are not floating */
    const tutti_value *dweights; /* by trainable weight; 0 where no gradient flows */
} tutti_penalty_input;

/* Provided by an algorithm whose manifest has the trait backwards_create_graph. */
typedef struct tutti_penalty_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Emits the term, one F32 number; the host adds it to the loss and its gradient to those of the
     * weights.  Every operation on the way needs a gradient of its gradient.  [control] */
    tutti_value (*term)(void *self, tutti_graph *g, const tutti_penalty_input *in);
} tutti_penalty_v1;

TUTTI_C_END
#endif
