/* model.h - tutti.model/1: the root of a module tree, with its loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_MODEL_H
#define TUTTI_MODEL_H

#include "dataset.h"
#include "graph.h"

TUTTI_C_BEGIN

#define TUTTI_MODEL_V1 "tutti.model/1"

enum { TUTTI_REDUCTION_NONE = 0, TUTTI_REDUCTION_MEAN = 1 };

typedef struct tutti_model_v1 {
    uint32_t struct_size;
    uint32_t noutputs;          /* of trace */
    const char *const *inputs;  /* batch columns that trace takes; NULL-terminated */
    const char *const *targets; /* batch columns that loss takes; NULL-terminated */
    /* Builds the tree under root module `m` for samples as `columns` describe them (after the
     * transforms), or says why they do not fit.  [control] */
    tutti_status (*build)(void *self, tutti_module m, const tutti_column *columns,
                          uint32_t ncolumns, tutti_error *err);
    /* Input values (B, ...) -> outputs[0..noutputs).  [control] */
    tutti_status (*trace)(void *self, tutti_graph *g, tutti_module m, const tutti_value *inputs,
                          uint32_t ninputs, tutti_value *outputs, uint32_t noutputs);
    /* Outputs and targets -> the loss: a scalar (MEAN) or one number a sample, (B) (NONE).
     * Targets come as the dataset gives them or as an algorithm has made them: for classifiers
     * classes (B) of an integer dtype or probabilities (B, N) f32.  [control] */
    tutti_value (*loss)(void *self, tutti_graph *g, const tutti_value *outputs,
                        uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                        int32_t reduction);
} tutti_model_v1;

TUTTI_C_END
#endif
