/* layer.c - standardized_conv2d: a convolution whose filters have mean 0 and variance 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

static tutti_status layer_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const void *modules = algorithm_service(host, "standardized_conv2d", TUTTI_MODULE_V1, err);
    (void)params;
    if (!modules)
        return TUTTI_E_UNSUPPORTED;
    *ret_self = (void *)(uintptr_t)modules; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status layer_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static tutti_status layer_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* w (Cout, K, K, Cin / groups): (w - mean) / sqrt(var + 1e-10) over all but the first axis. */
static tutti_value standardize(tutti_graph *g, tutti_value w)
{
    static const int64_t axes[3] = {1, 2, 3};
    const tutti_value c = tutti_sub(g, w, tutti_reduce(g, "mean", w, axes, 3, 1));
    const tutti_value var = tutti_reduce(g, "mean", tutti_mul(g, c, c), axes, 3, 1);
    return tutti_mul(g, c, tutti_op1(g, "rsqrt", tutti_affine(g, var, 1.0, 1e-10)));
}

static tutti_status layer_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    const tutti_module_v1 *s = self;
    const tutti_module conv = s->child(s->ctx, m, "conv");
    const tutti_params *p = s->params(s->ctx, conv);
    const int64_t step = tutti_param_i64(p, "stride"), pad = tutti_param_i64(p, "padding");
    const int64_t apart = tutti_param_i64(p, "dilation");
    const int64_t stride[2] = {step, step}, padding[2] = {pad, pad},
                  dilation[2] = {apart, apart};
    (void)nin, (void)nout;
    const tutti_value w = standardize(g, g->weight(g, conv, "weight"));
    out[0] =
        tutti_conv2d(g, in[0], w, tutti_param_i64(p, "bias") ? g->weight(g, conv, "bias") : 0,
                     stride, padding, dilation, tutti_param_i64(p, "groups"));
    return g->status(g);
}

SURGERY_LAYER(standardized_conv2d, layer_close);
