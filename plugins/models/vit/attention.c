/* attention.c - in_proj_attention: Vaswani et al. 2017, with the weights of PyTorch's layer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "vit.h"

#include <math.h>
#include <stdlib.h>

typedef struct attention {
    const tutti_module_v1 *modules;
    int64_t width;
    int64_t heads;
} attention;

static tutti_status vit_in_proj_attention_open(const tutti_host *host,
                                               const tutti_params *params, void **ret_self,
                                               tutti_error *err)
{
    attention *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "in_proj_attention: no memory");
    a->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    a->width = tutti_param_i64(params, "hidden_dim");
    a->heads = tutti_param_i64(params, "num_heads");
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status vit_in_proj_attention_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* in_proj_weight (3 C, C) and in_proj_bias (3 C): queries, keys and values below each other. */
static tutti_status vit_attention_build(void *self, tutti_module m, tutti_error *err)
{
    const attention *a = self;
    const double bound = sqrt(6.0 / (4.0 * (double)a->width)); /* Glorot and Bengio 2010 */
    const tutti_desc weight = {{3 * a->width, a->width}, 2, TUTTI_F32};
    const tutti_desc bias = {{3 * a->width}, 1, TUTTI_F32};
    const tutti_init uniform = {TUTTI_INIT_UNIFORM, 0, -bound, bound, 0.0, NULL};
    const tutti_init zero = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    const tutti_module_v1 *s = a->modules;
    tutti_status status =
        s->weight(s->ctx, m, "in_proj_weight", &weight, &uniform, TUTTI_WEIGHT_TRAINABLE, err);
    if (status == TUTTI_OK)
        status = s->weight(s->ctx, m, "in_proj_bias", &bias, &zero,
                           TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
    return status ? status : model_linear(s, m, "out_proj", a->width, a->width, err);
}

static tutti_status vit_attention_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    const attention *a = self;
    const tutti_desc x = *g->desc(g, in[0]);
    const int64_t packed[5] = {x.dim[0], x.dim[1], 3, a->heads, a->width / a->heads};
    const int64_t flat[3] = {x.dim[0], x.dim[1], a->width};
    const tutti_attr causal = tutti_attr_i("causal", 0);
    (void)nin, (void)nout;
    const tutti_value weight = g->weight(g, m, "in_proj_weight");
    const tutti_value bias = g->weight(g, m, "in_proj_bias");
    tutti_value y = tutti_matmul(g, in[0], weight, bias, 0, 1);
    y = tutti_reshape(g, y, packed, 5);
    y = g->emit(g, "sdpa_packed", &y, 1, &causal, 1, NULL, 0);
    out[0] = model_call(a->modules, g, m, "out_proj", tutti_reshape(g, y, flat, 3));
    return g->status(g);
}

static const void *vit_in_proj_attention_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = vit_attention_build,
                                         .trace = vit_attention_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = vit_in_proj_attention_open,
                                  .close = vit_in_proj_attention_close,
                                  .query = vit_in_proj_attention_query};
const tutti_object in_proj_attention =
    TUTTI_OBJECT_INIT("in_proj_attention", TUTTI_KIND_LAYER, &calls);
