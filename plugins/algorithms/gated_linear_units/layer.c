/* layer.c - bert_gated_output: layernorm(wo(dropout(act(gated_layer(x)) non_gated_layer(x))) + residual). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

static tutti_status gated_linear_units_layer_open(const tutti_host *host,
                                                  const tutti_params *params, void **ret_self,
                                                  tutti_error *err)
{
    const void *modules = algorithm_service(host, "bert_gated_output", TUTTI_MODULE_V1, err);
    (void)params;
    if (!modules)
        return TUTTI_E_UNSUPPORTED;
    *ret_self = (void *)(uintptr_t)modules; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status gated_linear_units_layer_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static tutti_status gated_linear_units_layer_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

static tutti_value gated_linear_units_call(const tutti_module_v1 *s, tutti_graph *g,
                                           tutti_module m, const char *name, tutti_value x)
{
    tutti_value y = 0;
    return g->call(g, s->child(s->ctx, m, name), &x, 1, &y, 1) ? 0 : y;
}

/* in[0] what the attention gives, in[1] the residual. */
static tutti_status gated_linear_units_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                                   const tutti_value *in, uint32_t nin,
                                                   tutti_value *out, uint32_t nout)
{
    const tutti_module_v1 *s = self;
    (void)nin, (void)nout;
    const tutti_value gate = gated_linear_units_call(
        s, g, m, "act", gated_linear_units_call(s, g, m, "gated_layer", in[0]));
    tutti_value x =
        tutti_mul(g, gate, gated_linear_units_call(s, g, m, "non_gated_layer", in[0]));
    if (s->child(s->ctx, m, "dropout"))
        x = gated_linear_units_call(s, g, m, "dropout", x);
    x = tutti_add(g, gated_linear_units_call(s, g, m, "wo", x), in[1]);
    out[0] = gated_linear_units_call(s, g, m, "layernorm", x);
    return g->status(g);
}

SURGERY_LAYER(bert_gated_output, gated_linear_units_layer_open, gated_linear_units_layer_build,
              gated_linear_units_layer_trace, gated_linear_units_layer_close);
