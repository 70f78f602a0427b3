/* block.c - llama_block: x + attention(norm(x)), then x + mlp(norm(x)); llama_mlp: the gated perceptron. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "llama.h"

#include "tutti/layer.h"

#include <stdlib.h>

/* Both kinds read their settings when they are built. */
typedef struct llama_layer {
    const tutti_module_v1 *modules;
} llama_layer;

static tutti_status llama_layer_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    llama_layer *l = calloc(1, sizeof *l);
    (void)params;
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "llama: no memory for a layer");
    l->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status llama_layer_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* ---- llama_block ---- */

static tutti_status llama_block_build(void *self, tutti_module m, tutti_error *err)
{
    static const llama_setting of_norm[] = {
        {"hidden_size", "num_features"}, {"rms_norm_eps", "eps"}, {NULL, NULL}};
    static const llama_setting of_mlp[] = {{"hidden_size", NULL},
                                           {"intermediate_size", NULL},
                                           {"mlp_bias", "bias"},
                                           {"initializer_range", "std"},
                                           {NULL, NULL}};
    static const llama_setting of_attention[] = {{"hidden_size", "embed_dim"},
                                                 {"num_attention_heads", "num_heads"},
                                                 {"num_key_value_heads", NULL},
                                                 {"head_dim", NULL},
                                                 {"qkv_bias", "bias"},
                                                 {"out_bias", NULL},
                                                 {"qk_norm", NULL},
                                                 {"rms_norm_eps", "eps"},
                                                 {"rope_theta", NULL},
                                                 {"rope_type", NULL},
                                                 {"rope_factor", NULL},
                                                 {"low_freq_factor", NULL},
                                                 {"high_freq_factor", NULL},
                                                 {"original_max_position_embeddings", NULL},
                                                 {"initializer_range", "std"},
                                                 {NULL, NULL}};
    static const struct {
        const char *name, *kind;
        const llama_setting *settings;
    } children[] = {{"input_layernorm", "rms_norm", of_norm},
                    {"self_attn", "grouped_query_attention", of_attention},
                    {"post_attention_layernorm", "rms_norm", of_norm},
                    {"mlp", "llama_mlp", of_mlp}};
    const tutti_module_v1 *s = ((llama_layer *)self)->modules;
    for (size_t k = 0; k < sizeof children / sizeof *children; k++) {
        tutti_attr attr[LLAMA_MOST_SETTINGS];
        const uint32_t n = llama_settings(s->params(s->ctx, m), children[k].settings, attr);
        const tutti_status status =
            model_add(s, m, children[k].name, children[k].kind, attr, n, NULL, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

static tutti_status llama_block_trace(void *self, tutti_graph *g, tutti_module m,
                                      const tutti_value *in, uint32_t nin, tutti_value *out,
                                      uint32_t nout)
{
    const tutti_module_v1 *s = ((llama_layer *)self)->modules;
    (void)nout;
    const tutti_value attended[2] = {model_call(s, g, m, "input_layernorm", in[0]),
                                     nin > 1 ? in[1] : 0};
    tutti_value y = 0;
    (void)g->call(g, s->child(s->ctx, m, "self_attn"), attended, nin > 1 ? 2 : 1, &y, 1);
    const tutti_value x = tutti_add(g, in[0], y);
    y = model_call(s, g, m, "post_attention_layernorm", x);
    out[0] = tutti_add(g, x, model_call(s, g, m, "mlp", y));
    return g->status(g);
}

static const void *llama_block_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = llama_block_build, .trace = llama_block_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls block_calls = {.struct_size = sizeof block_calls,
                                        .open = llama_layer_open,
                                        .close = llama_layer_close,
                                        .query = llama_block_query};
const tutti_object llama_block =
    TUTTI_OBJECT_INIT("llama_block", TUTTI_KIND_LAYER, &block_calls);

/* ---- llama_mlp: down_proj(silu(gate_proj(x)) up_proj(x)), SwiGLU of Shazeer 2020 ---- */

static tutti_status llama_mlp_build(void *self, tutti_module m, tutti_error *err)
{
    const tutti_module_v1 *s = ((llama_layer *)self)->modules;
    const tutti_params *params = s->params(s->ctx, m);
    const int64_t width = tutti_param_i64(params, "hidden_size");
    const int64_t inner = tutti_param_i64(params, "intermediate_size");
    static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
    for (int k = 0; k < 3; k++) {
        const tutti_attr attr[5] = {tutti_attr_i("in_features", k == 2 ? inner : width),
                                    tutti_attr_i("out_features", k == 2 ? width : inner),
                                    tutti_attr_i("bias", tutti_param_i64(params, "bias")),
                                    tutti_attr_i("init", LLAMA_INIT_NORMAL),
                                    tutti_attr_f("std", tutti_param_f64(params, "std"))};
        const tutti_status status = model_add(s, m, names[k], "linear", attr, 5, NULL, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

static tutti_status llama_mlp_trace(void *self, tutti_graph *g, tutti_module m,
                                    const tutti_value *in, uint32_t nin, tutti_value *out,
                                    uint32_t nout)
{
    const tutti_module_v1 *s = ((llama_layer *)self)->modules;
    (void)nin, (void)nout;
    const tutti_value gate = tutti_op1(g, "silu", model_call(s, g, m, "gate_proj", in[0]));
    const tutti_value up = model_call(s, g, m, "up_proj", in[0]);
    out[0] = model_call(s, g, m, "down_proj", tutti_mul(g, gate, up));
    return g->status(g);
}

static const void *llama_mlp_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = llama_mlp_build, .trace = llama_mlp_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls mlp_calls = {.struct_size = sizeof mlp_calls,
                                      .open = llama_layer_open,
                                      .close = llama_layer_close,
                                      .query = llama_mlp_query};
const tutti_object llama_mlp = TUTTI_OBJECT_INIT("llama_mlp", TUTTI_KIND_LAYER, &mlp_calls);
