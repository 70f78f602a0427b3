/* vit.h - what the vision transformer's modules share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_VIT_H
#define PLUGIN_VIT_H

#include "../model.h"

#include "tutti/layer.h"

enum { LINEAR_NORMAL = 2 }; /* of linear's setting init */

extern const tutti_object vit_encoder, vit_block, in_proj_attention;

/* The norm over C of `name`. */
static inline tutti_status vit_norm(const tutti_module_v1 *m, tutti_module parent,
                                    const char *name, int64_t width, double eps,
                                    tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("num_features", width), tutti_attr_f("eps", eps)};
    return model_add(m, parent, name, "layer_norm", attr, 2, NULL, err);
}

/* A dropout called `name`, where there is any. */
static inline tutti_status vit_dropout(const tutti_module_v1 *m, tutti_module parent,
                                       const char *name, double p, tutti_error *err)
{
    const tutti_attr attr = tutti_attr_f("p", p);
    return p > 0.0 ? model_add(m, parent, name, "dropout", &attr, 1, NULL, err) : TUTTI_OK;
}

/* Runs child `name` on x where there is one. */
static inline tutti_value vit_call(const tutti_module_v1 *s, tutti_graph *g, tutti_module m,
                                   const char *name, tutti_value x)
{
    return s->child(s->ctx, m, name) ? model_call(s, g, m, name, x) : x;
}

#endif
