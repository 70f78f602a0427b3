/* embeddings.c - bert_embeddings, from tokens to vectors, and bert_predictions, back to tokens. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bert.h"

#include <stdio.h>
#include <stdlib.h>

tutti_status bert_part_open(const tutti_host *host, const tutti_params *params, void **ret_self,
                            tutti_error *err)
{
    bert_part *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "bert: no memory for a layer");
    p->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    p->vocabulary = tutti_param_i64(params, "vocab_size");
    p->length = tutti_param_i64(params, "max_position_embeddings");
    p->types = tutti_param_i64(params, "type_vocab_size");
    p->width = tutti_param_i64(params, "hidden_size");
    p->heads = tutti_param_i64(params, "num_attention_heads");
    p->inner = tutti_param_i64(params, "intermediate_size");
    p->offset = tutti_param_i64(params, "position_offset");
    p->dropout = tutti_param_f64(params, "dropout");
    p->eps = tutti_param_f64(params, "layer_norm_eps");
    *ret_self = p;
    return TUTTI_OK;
}

tutti_status bert_part_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* ---- bert_embeddings: LayerNorm(word + position + token type) ---- */

static tutti_status add_table(const bert_part *p, tutti_module m, const char *name,
                              int64_t rows, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("num_embeddings", rows),
                                tutti_attr_i("embedding_dim", p->width),
                                tutti_attr_f("std", bert_std)};
    return model_add(p->modules, m, name, "embedding", attr, 3, NULL, err);
}

static tutti_status bert_embeddings_build(void *self, tutti_module m, tutti_error *err)
{
    const bert_part *p = self;
    tutti_status s;
    if ((s = add_table(p, m, "word_embeddings", p->vocabulary, err)) ||
        (s = add_table(p, m, "position_embeddings", p->length, err)) ||
        (s = add_table(p, m, "token_type_embeddings", p->types, err)) ||
        (s = bert_norm(p->modules, m, p->width, p->eps, err)))
        return s;
    return bert_dropout(p->modules, m, p->dropout, err);
}

/* n rows, from `first` on, of the table of child `name`, which has `rows`. */
static tutti_value some_rows(const bert_part *p, tutti_graph *g, tutti_module m,
                             const char *name, int64_t rows, int64_t first, int64_t n)
{
    const int64_t begin[2] = {first, 0}, end[2] = {first + n, p->width}, step[2] = {1, 1};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 2),
                               tutti_attr_list("end", end, 2),
                               tutti_attr_list("stride", step, 2)};
    const tutti_value table =
        g->weight(g, p->modules->child(p->modules->ctx, m, name), "weight");
    return n == rows ? table : g->emit(g, "slice", &table, 1, cut, 3, NULL, 0);
}

/* in[0] tokens (B, T); in[1] their types, all 0 where there is none. */
static tutti_status bert_embeddings_trace(void *self, tutti_graph *g, tutti_module m,
                                          const tutti_value *in, uint32_t nin, tutti_value *out,
                                          uint32_t nout)
{
    const bert_part *p = self;
    const int64_t t = g->desc(g, in[0])->dim[1];
    char text[144];
    (void)nout;
    (void)snprintf(text, sizeof text,
                   "bert: a sequence of %lld tokens, max_position_embeddings is %lld%s",
                   (long long)t, (long long)p->length,
                   p->offset ? ", of which position_offset takes some" : "");
    if (t > p->length - p->offset)
        return g->fail(g, TUTTI_E_RANGE, text);
    const tutti_value word = model_call(p->modules, g, m, "word_embeddings", in[0]);
    const tutti_value position =
        some_rows(p, g, m, "position_embeddings", p->length, p->offset, t);
    const tutti_value type = nin > 1
                                 ? model_call(p->modules, g, m, "token_type_embeddings", in[1])
                                 : some_rows(p, g, m, "token_type_embeddings", p->types, 0, 1);
    const tutti_value x = tutti_add(g, word, tutti_add(g, position, type));
    out[0] = bert_drop(p->modules, g, m, model_call(p->modules, g, m, "LayerNorm", x));
    return g->status(g);
}

static const void *bert_embeddings_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = bert_embeddings_build,
                                         .trace = bert_embeddings_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

/* ---- bert_predictions: transform(x) table^T + bias ---- */

static tutti_status bert_predictions_build(void *self, tutti_module m, tutti_error *err)
{
    const bert_part *p = self;
    const tutti_desc shape = {{p->vocabulary}, 1, TUTTI_F32};
    const tutti_init zero = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    tutti_module transform;
    tutti_status s = p->modules->weight(p->modules->ctx, m, "bias", &shape, &zero,
                                        TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
    if (s ||
        (s = model_add(p->modules, m, "transform", "sequential", NULL, 0, &transform, err)) ||
        (s = bert_linear(p->modules, transform, "dense", p->width, p->width, err)) ||
        (s = model_add(p->modules, transform, "act", "gelu", NULL, 0, NULL, err)))
        return s;
    return bert_norm(p->modules, transform, p->width, p->eps, err);
}

/* in[0] (B, T, C), in[1] the table of tokens (V, C): logits (B, T, V). */
static tutti_status bert_predictions_trace(void *self, tutti_graph *g, tutti_module m,
                                           const tutti_value *in, uint32_t nin,
                                           tutti_value *out, uint32_t nout)
{
    const bert_part *p = self;
    (void)nin, (void)nout;
    const tutti_value x = model_call(p->modules, g, m, "transform", in[0]);
    out[0] = tutti_matmul(g, x, in[1], g->weight(g, m, "bias"), 0, 1);
    return g->status(g);
}

static const void *bert_predictions_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = bert_predictions_build,
                                         .trace = bert_predictions_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls embeddings_calls = {.struct_size = sizeof embeddings_calls,
                                             .open = bert_part_open,
                                             .close = bert_part_close,
                                             .query = bert_embeddings_query};
static const tutti_calls predictions_calls = {.struct_size = sizeof predictions_calls,
                                              .open = bert_part_open,
                                              .close = bert_part_close,
                                              .query = bert_predictions_query};
const tutti_object bert_embeddings =
    TUTTI_OBJECT_INIT("bert_embeddings", TUTTI_KIND_LAYER, &embeddings_calls);
const tutti_object bert_predictions =
    TUTTI_OBJECT_INIT("bert_predictions", TUTTI_KIND_LAYER, &predictions_calls);
