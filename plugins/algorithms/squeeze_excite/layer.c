/* layer.c - squeeze_excite_conv2d: y * sigmoid(W2 relu(W1 mean(y))) of a convolution's y. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "squeeze_excite.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct excite_layer {
    const tutti_module_v1 *modules;
    int64_t channels;
    int64_t latent;
} excite_layer;

static tutti_status squeeze_excite_layer_open(const tutti_host *host,
                                              const tutti_params *params, void **ret_self,
                                              tutti_error *err)
{
    const tutti_module_v1 *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "squeeze_excite_conv2d: this host has no " TUTTI_MODULE_V1);
    excite_layer *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "squeeze_excite_conv2d: no memory");
    l->modules = modules;
    l->channels = tutti_param_i64(params, "channels");
    l->latent = tutti_param_i64(params, "latent_channels");
    *ret_self = l;
    return TUTTI_OK;
}

/* A matrix (out, in) that starts as PyTorch's linear layers do: uniform within 1 / sqrt(in). */
static tutti_status squeeze_excite_matrix(const tutti_module_v1 *s, tutti_module m,
                                          const char *name, int64_t out, int64_t in,
                                          tutti_error *err)
{
    const tutti_desc desc = {{out, in}, 2, TUTTI_F32};
    const double bound = 1.0 / sqrt((double)in);
    const tutti_init init = {TUTTI_INIT_UNIFORM, 0, -bound, bound, 0.0, NULL};
    return s->weight(s->ctx, m, name, &desc, &init, TUTTI_WEIGHT_TRAINABLE, err);
}

static tutti_status squeeze_excite_layer_build(void *self, tutti_module m, tutti_error *err)
{
    const excite_layer *l = self;
    const tutti_status status =
        squeeze_excite_matrix(l->modules, m, "squeeze", l->latent, l->channels, err);
    return status ? status
                  : squeeze_excite_matrix(l->modules, m, "excite", l->channels, l->latent, err);
}

static tutti_status squeeze_excite_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                               const tutti_value *in, uint32_t nin,
                                               tutti_value *out, uint32_t nout)
{
    const excite_layer *l = self;
    static const int64_t pixels[2] = {1, 2};
    tutti_value y;
    (void)nout;
    if (g->call(g, l->modules->child(l->modules->ctx, m, "conv"), in, nin, &y, 1))
        return g->status(g);
    const int64_t shape[4] = {g->desc(g, y)->dim[0], 1, 1, l->channels};
    tutti_value s = tutti_reduce(g, "mean", y, pixels, 2, 0); /* (B, C) */
    s = tutti_relu(g, tutti_matmul(g, s, g->weight(g, m, "squeeze"), 0, 0, 1));
    s = tutti_op1(g, "sigmoid", tutti_matmul(g, s, g->weight(g, m, "excite"), 0, 0, 1));
    out[0] = tutti_mul(g, y, tutti_reshape(g, s, shape, 4));
    return g->status(g);
}

SURGERY_LAYER(squeeze_excite_conv2d, squeeze_excite_layer_open, squeeze_excite_layer_build,
              squeeze_excite_layer_trace, surgery_close);
