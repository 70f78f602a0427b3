/* plugin.c - llama: the language model of Touvron et al. 2023, and those of its shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "llama.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct llama {
    const tutti_module_v1 *modules;
    int64_t vocabulary; /* 0: what the data say */
    int64_t layers;
    int64_t width;
    int64_t tied; /* the head is the token embedding */
    double std;
    const char *inputs[4]; /* known after build */
    tutti_model_v1 table;
} llama;

static tutti_status llama_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status add_blocks(const llama *m, tutti_module root, tutti_module body,
                               tutti_error *err)
{
    static const llama_setting of_block[] = {{"hidden_size", NULL},
                                             {"intermediate_size", NULL},
                                             {"num_attention_heads", NULL},
                                             {"num_key_value_heads", NULL},
                                             {"head_dim", NULL},
                                             {"qkv_bias", NULL},
                                             {"out_bias", NULL},
                                             {"mlp_bias", NULL},
                                             {"qk_norm", NULL},
                                             {"rms_norm_eps", NULL},
                                             {"rope_theta", NULL},
                                             {"rope_type", NULL},
                                             {"rope_factor", NULL},
                                             {"low_freq_factor", NULL},
                                             {"high_freq_factor", NULL},
                                             {"original_max_position_embeddings", NULL},
                                             {"initializer_range", NULL},
                                             {NULL, NULL}};
    tutti_attr attr[LLAMA_MOST_SETTINGS];
    const tutti_module_v1 *s = m->modules;
    const uint32_t n = llama_settings(s->params(s->ctx, root), of_block, attr);
    tutti_module layers;
    tutti_status status = model_add(s, body, "layers", "sequential", NULL, 0, &layers, err);
    for (int64_t k = 0; k < m->layers && !status; k++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)k);
        status = model_add(s, layers, name, "llama_block", attr, n, NULL, err);
    }
    return status;
}

/* model.embed_tokens model.layers.0 ... model.norm lm_head: the names of the published files. */
static tutti_status llama_build(void *self, tutti_module root, const tutti_column *columns,
                                uint32_t ncolumns, tutti_error *err)
{
    static const llama_setting of_norm[] = {
        {"hidden_size", "num_features"}, {"rms_norm_eps", "eps"}, {NULL, NULL}};
    llama *m = self;
    const tutti_module_v1 *s = m->modules;
    tutti_attr norm[LLAMA_MOST_SETTINGS];
    tutti_module body;
    int64_t length = 0, vocabulary = 0;
    tutti_status status =
        token_columns("llama", columns, ncolumns, m->vocabulary, &length, &vocabulary, err);
    if (status || (status = token_documents("llama", columns, ncolumns, m->inputs, err)))
        return status;
    const tutti_attr embedding[3] = {tutti_attr_i("num_embeddings", vocabulary),
                                     tutti_attr_i("embedding_dim", m->width),
                                     tutti_attr_f("std", m->std)};
    const tutti_attr head[5] = {
        tutti_attr_i("in_features", m->width), tutti_attr_i("out_features", vocabulary),
        tutti_attr_i("bias", 0), tutti_attr_i("init", LLAMA_INIT_NORMAL),
        tutti_attr_f("std", m->std)};
    const uint32_t nnorm = llama_settings(s->params(s->ctx, root), of_norm, norm);
    if ((status = model_add(s, root, "model", "sequential", NULL, 0, &body, err)) ||
        (status = model_add(s, body, "embed_tokens", "embedding", embedding, 3, NULL, err)) ||
        (status = add_blocks(m, root, body, err)) ||
        (status = model_add(s, body, "norm", "rms_norm", norm, nnorm, NULL, err)) || m->tied)
        return status;
    return model_add(s, root, "lm_head", "linear", head, 5, NULL, err);
}

static tutti_status llama_trace(void *self, tutti_graph *g, tutti_module root,
                                const tutti_value *inputs, uint32_t ninputs,
                                tutti_value *outputs, uint32_t noutputs)
{
    const llama *m = self;
    const tutti_module_v1 *s = m->modules;
    (void)noutputs;
    if (TUTTI_HAS(g, tutti_graph, position)) /* it can go on; the attention has the angles */
        (void)g->position(g, 0);
    /* rotary positions are differences: those of the documents are those of the row */
    const tutti_value in[2] = {inputs[0],
                               ninputs > 2 ? token_document_scores(g, inputs[1]) : 0};
    tutti_value x = 0;
    (void)g->call(g, s->child(s->ctx, root, "model"), in, in[1] ? 2 : 1, &x, 1);
    if (!m->tied) {
        outputs[0] = model_call(s, g, root, "lm_head", x);
        return g->status(g);
    }
    const tutti_module words =
        s->child(s->ctx, s->child(s->ctx, root, "model"), "embed_tokens");
    outputs[0] = tutti_matmul(g, x, g->weight(g, words, "weight"), 0, 0, 1);
    return g->status(g);
}

static tutti_status llama_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "hidden_size");
    const int64_t heads = tutti_param_i64(params, "num_attention_heads");
    if (!tutti_param_is_set(params, "head_dim") && width % heads)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "llama: hidden_size %lld does not divide into %lld heads, and head_dim is not set",
            (long long)width, (long long)heads);
    llama *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "llama: no memory");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    m->vocabulary = tutti_param_i64(params, "vocab_size");
    m->layers = tutti_param_i64(params, "num_hidden_layers");
    m->width = width;
    m->tied = tutti_param_i64(params, "tie_word_embeddings");
    m->std = tutti_param_f64(params, "initializer_range");
    m->table = (tutti_model_v1){.struct_size = sizeof m->table,
                                .noutputs = 1,
                                .inputs = m->inputs,
                                .targets = classifier_targets,
                                .build = llama_build,
                                .trace = llama_trace,
                                .loss = model_cross_entropy};
    m->inputs[0] = "input";
    *ret_self = m;
    return TUTTI_OK;
}

static const void *llama_query(void *self, const char *id)
{
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &((llama *)self)->table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = llama_open,
                                  .close = llama_close,
                                  .query = llama_query};
static const tutti_object object = TUTTI_OBJECT_INIT("llama", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &llama_block, &llama_mlp, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.llama", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
