/* layer.c - bert_layer and its parts: attention and perceptron, each normalised after its sum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bert.h"

/* ---- bert_self_attention: products for q, k and v, then the heads ---- */

static const char *const products[3] = {"query", "key", "value"};

static tutti_status bert_attention_build(void *self, tutti_module m, tutti_error *err)
{
    const bert_part *p = self;
    const tutti_attr attr[2] = {tutti_attr_i("num_heads", p->heads),
                                tutti_attr_f("dropout", p->dropout)};
    for (int k = 0; k < 3; k++) {
        const tutti_status s = bert_linear(p->modules, m, products[k], p->width, p->width, err);
        if (s)
            return s;
    }
    return model_add(p->modules, m, "heads", "attention_heads", attr, 2, NULL, err);
}

/* The three weights called `name`, one below the other. */
static tutti_value bert_stacked(const bert_part *p, tutti_graph *g, tutti_module m,
                                const char *name)
{
    const tutti_module_v1 *s = p->modules;
    const tutti_attr axis = tutti_attr_i("axis", 0);
    tutti_value all[3];
    for (int k = 0; k < 3; k++)
        all[k] = g->weight(g, s->child(s->ctx, m, products[k]), name);
    return g->emit(g, "concat", all, 3, &axis, 1, NULL, 0);
}

/* (B, T, C) -> (B, T, 3 C), as one product where surgery has left all three as they were. */
static tutti_value bert_project(const bert_part *p, tutti_graph *g, tutti_module m,
                                tutti_value x)
{
    const tutti_module_v1 *s = p->modules;
    const tutti_attr axis = tutti_attr_i("axis", -1);
    tutti_value all[3];
    int linear = 1;
    for (int k = 0; k < 3; k++)
        linear &= strcmp(s->kind(s->ctx, s->child(s->ctx, m, products[k])), "linear") == 0;
    if (linear) {
        const tutti_value weight = bert_stacked(p, g, m, "weight");
        return tutti_matmul(g, x, weight, bert_stacked(p, g, m, "bias"), 0, 1);
    }
    for (int k = 0; k < 3; k++)
        all[k] = model_call(s, g, m, products[k], x);
    return g->emit(g, "concat", all, 3, &axis, 1, NULL, 0);
}

/* in[1], where there is one, is added to the scores. */
static tutti_status bert_attention_trace(void *self, tutti_graph *g, tutti_module m,
                                         const tutti_value *in, uint32_t nin, tutti_value *out,
                                         uint32_t nout)
{
    const bert_part *p = self;
    (void)nout;
    const tutti_value qkv = bert_project(p, g, m, in[0]);
    out[0] = bert_call(p->modules, g, m, "heads", qkv, nin > 1 ? in[1] : 0);
    return g->status(g);
}

/* ---- bert_output: LayerNorm(dropout(dense(in[0])) + in[1]) ---- */

static tutti_status bert_output_build(void *self, tutti_module m, tutti_error *err)
{
    const bert_part *p = self;
    tutti_status s;
    if ((s = bert_linear(p->modules, m, "dense", p->inner, p->width, err)) ||
        (s = bert_dropout(p->modules, m, p->dropout, err)))
        return s;
    return bert_norm(p->modules, m, p->width, p->eps, err);
}

static tutti_status bert_output_trace(void *self, tutti_graph *g, tutti_module m,
                                      const tutti_value *in, uint32_t nin, tutti_value *out,
                                      uint32_t nout)
{
    const tutti_module_v1 *s = ((bert_part *)self)->modules;
    (void)nin, (void)nout;
    const tutti_value y = bert_drop(s, g, m, model_call(s, g, m, "dense", in[0]));
    out[0] = model_call(s, g, m, "LayerNorm", tutti_add(g, y, in[1]));
    return g->status(g);
}

/* ---- bert_layer: attention (self, output), intermediate, output ---- */

static tutti_status add_output(const bert_part *p, tutti_module m, int64_t inner,
                               tutti_error *err)
{
    const tutti_attr attr[4] = {
        tutti_attr_i("hidden_size", p->width), tutti_attr_i("intermediate_size", inner),
        tutti_attr_f("dropout", p->dropout), tutti_attr_f("layer_norm_eps", p->eps)};
    return model_add(p->modules, m, "output", "bert_output", attr, 4, NULL, err);
}

static tutti_status bert_layer_build(void *self, tutti_module m, tutti_error *err)
{
    const bert_part *p = self;
    const tutti_module_v1 *s = p->modules;
    const tutti_attr attr[3] = {tutti_attr_i("hidden_size", p->width),
                                tutti_attr_i("num_attention_heads", p->heads),
                                tutti_attr_f("dropout", p->dropout)};
    tutti_module attention, wide;
    tutti_status status;
    if ((status = model_add(s, m, "attention", "sequential", NULL, 0, &attention, err)) ||
        (status = model_add(s, attention, "self", "bert_self_attention", attr, 3, NULL, err)) ||
        (status = add_output(p, attention, p->width, err)) ||
        (status = model_add(s, m, "intermediate", "sequential", NULL, 0, &wide, err)) ||
        (status = bert_linear(s, wide, "dense", p->width, p->inner, err)) ||
        (status = model_add(s, wide, "act", "gelu", NULL, 0, NULL, err)))
        return status;
    return add_output(p, m, p->inner, err);
}

static tutti_status bert_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    const tutti_module_v1 *s = ((bert_part *)self)->modules;
    const tutti_module attention = s->child(s->ctx, m, "attention");
    (void)nout;
    tutti_value y = bert_call(s, g, attention, "self", in[0], nin > 1 ? in[1] : 0);
    const tutti_value x = bert_call(s, g, attention, "output", y, in[0]);
    y = model_call(s, g, m, "intermediate", x);
    out[0] = bert_call(s, g, m, "output", y, x);
    return g->status(g);
}

#define PART(name_, object_)                                                                   \
    static const void *bert_##name_##_query(void *self, const char *id)                        \
    {                                                                                          \
        static const tutti_layer_v1 table = {.struct_size = sizeof table,                      \
                                             .build = bert_##name_##_build,                    \
                                             .trace = bert_##name_##_trace};                   \
        (void)self;                                                                            \
        return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;                                \
    }                                                                                          \
    static const tutti_calls name_##_calls = {.struct_size = sizeof name_##_calls,             \
                                              .open = bert_part_open,                          \
                                              .close = bert_part_close,                        \
                                              .query = bert_##name_##_query};                  \
    const tutti_object object_ = TUTTI_OBJECT_INIT(#object_, TUTTI_KIND_LAYER, &name_##_calls);

PART(attention, bert_self_attention)
PART(output, bert_output)
PART(layer, bert_layer)
