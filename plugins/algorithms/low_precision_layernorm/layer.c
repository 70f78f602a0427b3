/* layer.c - low_precision_layer_norm: a layer norm that reads and gives 16 bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"

typedef struct low_norm {
    const tutti_module_v1 *modules;
    const tutti_state_v1 *state;
    int64_t features;
    double eps;
} low_norm;

static tutti_status layer_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    static const char who[] = "low_precision_layer_norm";
    const tutti_module_v1 *modules = algorithm_service(host, who, TUTTI_MODULE_V1, err);
    const tutti_state_v1 *state =
        modules ? algorithm_service(host, who, TUTTI_STATE_V1, err) : NULL;
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    low_norm *l = malloc(sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", who);
    *l = (low_norm){modules, state, tutti_param_i64(params, "num_features"),
                    tutti_param_f64(params, "eps")};
    *ret_self = l;
    return TUTTI_OK;
}

/* As a layer norm has them: ones and zeros, without decay. */
static tutti_status layer_build(void *self, tutti_module m, tutti_error *err)
{
    const low_norm *l = self;
    const tutti_module_v1 *s = l->modules;
    const uint32_t flags = TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY;
    const tutti_desc row = {{l->features}, 1, TUTTI_F32};
    const tutti_init one = {.kind = TUTTI_INIT_CONSTANT, .a = 1.0};
    const tutti_init zero = {.kind = TUTTI_INIT_CONSTANT};
    const tutti_status status = s->weight(s->ctx, m, "weight", &row, &one, flags, err);
    return status ? status : s->weight(s->ctx, m, "bias", &row, &zero, flags, err);
}

static tutti_value cast(tutti_graph *g, tutti_value v, int32_t dtype)
{
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    return g->emit(g, "cast", &v, 1, &to, 1, NULL, 0);
}

/* The input, weight and bias are rounded, and so is the result, which goes on as f32. */
static tutti_status layer_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    const low_norm *l = self;
    const int32_t low = low_precision_dtype(l->state);
    const tutti_attr eps = tutti_attr_f("eps", l->eps);
    tutti_value all[3] = {in[0], g->weight(g, m, "weight"), g->weight(g, m, "bias")};
    (void)nin, (void)nout;
    for (int k = 0; k < 3 && low != TUTTI_F32; k++)
        all[k] = cast(g, all[k], low);
    out[0] = g->emit(g, "layer_norm", all, 3, &eps, 1, NULL, 0);
    if (low != TUTTI_F32)
        out[0] = cast(g, cast(g, out[0], low), TUTTI_F32);
    return g->status(g);
}

SURGERY_LAYER(low_precision_layer_norm, surgery_close);
