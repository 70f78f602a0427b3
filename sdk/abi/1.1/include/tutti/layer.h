/* layer.h - tutti.layer/1: a kind of module: its weights and how it traces itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LAYER_H
#define TUTTI_LAYER_H

#include "graph.h"

TUTTI_C_BEGIN

#define TUTTI_LAYER_V1 "tutti.layer/1"

/* One opened object is one module of the tree; its settings are the object's params. */
typedef struct tutti_layer_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    /* Declares weights and children of `m` through tutti.module/1.  Called once, after open.
     * [control] */
    tutti_status (*build)(void *self, tutti_module m, tutti_error *err);
    /* Emits the forward computation for in[0..nin) into out[0..nout); the graph's mode tells
     * training from evaluation.  Errors stick to the graph.  [control] */
    tutti_status (*trace)(void *self, tutti_graph *g, tutti_module m, const tutti_value *in,
                          uint32_t nin, tutti_value *out, uint32_t nout);
} tutti_layer_v1;

TUTTI_C_END
#endif
