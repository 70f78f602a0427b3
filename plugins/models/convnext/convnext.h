/* convnext.h - what ConvNeXt's modules share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_CONVNEXT_H
#define PLUGIN_CONVNEXT_H

#include "../model.h"

#include "tutti/layer.h"

extern const tutti_object convnext_block;

/* The norm over channels called `name`. */
static inline tutti_status convnext_norm(const tutti_module_v1 *m, tutti_module parent,
                                         const char *name, int64_t width, double eps,
                                         tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("num_features", width), tutti_attr_f("eps", eps)};
    return model_add(m, parent, name, "layer_norm", attr, 2, NULL, err);
}

/* A linear layer that starts normal with standard deviation 0.02, its bias at 0. */
static inline tutti_status convnext_linear(const tutti_module_v1 *m, tutti_module parent,
                                           const char *name, int64_t in, int64_t out,
                                           tutti_error *err)
{
    enum { LINEAR_NORMAL = 2 }; /* of its setting init */
    const tutti_attr attr[4] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out),
                                tutti_attr_i("init", LINEAR_NORMAL), tutti_attr_f("std", 0.02)};
    return model_add(m, parent, name, "linear", attr, 4, NULL, err);
}

static const double convnext_eps = 1e-6; /* of all norms but the last */

#endif
