/* plugin.c - gpt2: the language model of Radford et al. 2019, of any size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gpt2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct gpt2 {
    const tutti_module_v1 *modules;
    int64_t vocabulary; /* 0: what the data say */
    int64_t layers;
    int64_t heads;
    int64_t width;
    int64_t length; /* most tokens of a sequence; 0: as many as the data have */
    int64_t alibi;
    double dropout;
    const char *inputs[4]; /* known after build */
    tutti_model_v1 table;
} gpt2;

static tutti_status gpt2_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const double std = 0.02;

static tutti_status add_embedding(const gpt2 *m, tutti_module root, const char *name,
                                  int64_t rows, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("num_embeddings", rows),
                                tutti_attr_i("embedding_dim", m->width),
                                tutti_attr_f("std", std)};
    return model_add(m->modules, root, name, "embedding", attr, 3, NULL, err);
}

/* What the 2 L blocks' halves add to x starts smaller, so that their sum does not grow with L. */
static tutti_status add_blocks(const gpt2 *m, tutti_module root, tutti_error *err)
{
    const double proj_std = std / sqrt(2.0 * (double)m->layers);
    const tutti_attr attr[6] = {tutti_attr_i("embed_dim", m->width),
                                tutti_attr_i("num_heads", m->heads),
                                tutti_attr_f("dropout", m->dropout),
                                tutti_attr_i("alibi", m->alibi),
                                tutti_attr_f("std", std),
                                tutti_attr_f("proj_std", proj_std)};
    tutti_module h;
    tutti_status s = model_add(m->modules, root, "h", "sequential", NULL, 0, &h, err);
    for (int64_t k = 0; k < m->layers && !s; k++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)k);
        s = model_add(m->modules, h, name, "gpt2_block", attr, 6, NULL, err);
    }
    return s;
}

/* wte wpe [drop] h.0 ... ln_f; the head is wte again. */
static tutti_status gpt2_build(void *self, tutti_module root, const tutti_column *columns,
                               uint32_t ncolumns, tutti_error *err)
{
    gpt2 *m = self;
    const tutti_attr p = tutti_attr_f("p", m->dropout);
    const tutti_attr features = tutti_attr_i("num_features", m->width);
    int64_t length = 0, vocabulary = 0;
    tutti_status s =
        token_columns("gpt2", columns, ncolumns, m->vocabulary, &length, &vocabulary, err);
    if (s)
        return s;
    if ((s = token_documents("gpt2", columns, ncolumns, m->inputs, err)))
        return s;
    if (m->length <= 0)
        m->length = length;
    if (length > m->length)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "gpt2: block_size is %lld, the data has sequences of %lld",
                          (long long)m->length, (long long)length);
    if ((s = add_embedding(m, root, "wte", vocabulary, err)) ||
        (!m->alibi && (s = add_embedding(m, root, "wpe", m->length, err))) ||
        (m->dropout > 0.0 &&
         (s = model_add(m->modules, root, "drop", "dropout", &p, 1, NULL, err))) ||
        (s = add_blocks(m, root, err)))
        return s;
    return model_add(m->modules, root, "ln_f", "layer_norm", &features, 1, NULL, err);
}

/* The first T of the `rows` of wpe. */
static tutti_value gpt2_positions(const gpt2 *m, tutti_graph *g, tutti_module wpe, int64_t rows,
                                  int64_t t)
{
    const int64_t begin[2] = {0, 0}, end[2] = {t, m->width}, step[2] = {1, 1};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 2),
                               tutti_attr_list("end", end, 2),
                               tutti_attr_list("stride", step, 2)};
    const tutti_value table = g->weight(g, wpe, "weight");
    return t == rows ? table : g->emit(g, "slice", &table, 1, cut, 3, NULL, 0);
}

/* Each token's position, where the graph goes on with sequences; 0 where they begin. */
static tutti_value gpt2_going_on(tutti_graph *g, int64_t rows)
{
    return TUTTI_HAS(g, tutti_graph, position) ? g->position(g, rows) : 0;
}

/* What is added to the tokens' embeddings (B, T, C). */
static tutti_value gpt2_places(const gpt2 *m, tutti_graph *g, tutti_module wpe,
                               tutti_value going_on, int64_t rows, int64_t t)
{
    const tutti_attr axis = tutti_attr_i("axis", 0);
    if (!going_on)
        return gpt2_positions(m, g, wpe, rows, t);
    const tutti_value in[2] = {g->weight(g, wpe, "weight"), going_on};
    return g->emit(g, "gather", in, 2, &axis, 1, NULL, 0);
}

static tutti_status gpt2_trace(void *self, tutti_graph *g, tutti_module root,
                               const tutti_value *inputs, uint32_t ninputs,
                               tutti_value *outputs, uint32_t noutputs)
{
    const gpt2 *m = self;
    const tutti_module_v1 *s = m->modules;
    (void)noutputs;
    const int64_t t = g->desc(g, inputs[0])->dim[1];
    const tutti_module wpe = s->child(s->ctx, root, "wpe");
    const int64_t rows = wpe ? tutti_param_i64(s->params(s->ctx, wpe), "num_embeddings") : 0;
    char text[96];
    (void)snprintf(text, sizeof text, "gpt2: a sequence of %lld tokens, block_size is %lld",
                   (long long)t, (long long)rows);
    if (wpe && t > rows)
        return g->fail(g, TUTTI_E_RANGE, text);
    const tutti_value going_on = gpt2_going_on(g, rows);
    tutti_value x = model_call(s, g, root, "wte", inputs[0]);
    if (wpe)
        x = tutti_add(g, x,
                      ninputs > 2 ? model_call(s, g, root, "wpe", inputs[2])
                                  : gpt2_places(m, g, wpe, going_on, rows, t));
    if (s->child(s->ctx, root, "drop"))
        x = model_call(s, g, root, "drop", x);
    const tutti_value in[2] = {x, ninputs > 2 ? token_document_scores(g, inputs[1]) : 0};
    (void)g->call(g, s->child(s->ctx, root, "h"), in, in[1] ? 2 : 1, &x, 1);
    x = model_call(s, g, root, "ln_f", x);
    outputs[0] =
        tutti_matmul(g, x, g->weight(g, s->child(s->ctx, root, "wte"), "weight"), 0, 0, 1);
    return g->status(g);
}

static tutti_status gpt2_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "n_embd");
    const int64_t heads = tutti_param_i64(params, "n_head");
    if (width % heads)
        return tutti_fail(err, TUTTI_E_ARG, "gpt2: n_embd %lld does not divide into %lld heads",
                          (long long)width, (long long)heads);
    gpt2 *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "gpt2: no memory");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    m->vocabulary = tutti_param_i64(params, "vocab_size");
    m->layers = tutti_param_i64(params, "n_layer");
    m->heads = heads;
    m->width = width;
    m->length = tutti_param_i64(params, "block_size");
    m->alibi = tutti_param_i64(params, "alibi");
    m->dropout = tutti_param_f64(params, "dropout");
    m->inputs[0] = "input";
    m->table = (tutti_model_v1){.struct_size = sizeof m->table,
                                .noutputs = 1,
                                .inputs = m->inputs,
                                .targets = classifier_targets,
                                .build = gpt2_build,
                                .trace = gpt2_trace,
                                .loss = model_cross_entropy};
    *ret_self = m;
    return TUTTI_OK;
}

static const void *gpt2_query(void *self, const char *id)
{
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &((gpt2 *)self)->table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = gpt2_open, .close = gpt2_close, .query = gpt2_query};
static const tutti_object object = TUTTI_OBJECT_INIT("gpt2", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &gpt2_block, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.gpt2", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
