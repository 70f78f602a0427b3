/* plugin.c - bert: the encoder of Devlin et al. 2019 with one of its heads, of any size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bert.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct bert {
    bert_part part; /* vocabulary, length and inner may be 0 until build */
    int64_t layers;
    int64_t labels;              /* 0: what the data say */
    int32_t classifies;          /* head: classification, else masked_lm */
    int32_t has_types, has_mask; /* columns of the data; known after build */
    int32_t reserved;
    const char *inputs[4];
    tutti_model_v1 table;
} bert;

/* ---- modules ---- */

/* What the two heads have in common: the columns of tokens, and of what may go with them. */
static tutti_status find_inputs(bert *b, const tutti_column *columns, uint32_t n,
                                tutti_error *err)
{
    char text[96];
    int k = 1;
    b->inputs[0] = "input";
    b->has_types = b->has_mask = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (strcmp(columns[c].name, "document_ids") == 0)
            return tutti_fail(
                err, TUTTI_E_UNSUPPORTED,
                "bert: the data have several documents a row (document_ids), which "
                "the model does not keep apart");
        b->has_types |= strcmp(columns[c].name, "token_type_ids") == 0;
        b->has_mask |= strcmp(columns[c].name, "attention_mask") == 0;
        if ((strcmp(columns[c].name, "token_type_ids") == 0 ||
             strcmp(columns[c].name, "attention_mask") == 0) &&
            columns[c].desc.rank != 1)
            return tutti_fail(err, TUTTI_E_SHAPE, "bert: the column %s is %s, want (T)",
                              columns[c].name,
                              tutti_desc_text(&columns[c].desc, text, sizeof text));
    }
    if (b->has_types)
        b->inputs[k++] = "token_type_ids";
    if (b->has_mask)
        b->inputs[k++] = "attention_mask";
    b->inputs[k] = NULL;
    return TUTTI_OK;
}

/* Columns "input" (T) of tokens and "target" of one label a sample. */
static tutti_status label_columns(const bert *b, const tutti_column *columns, uint32_t n,
                                  int64_t *ret_length, int64_t *ret_vocabulary,
                                  int64_t *ret_labels, tutti_error *err)
{
    const tutti_column *input = NULL, *target = NULL;
    char text[96];
    for (uint32_t k = 0; k < n; k++) {
        if (strcmp(columns[k].name, "input") == 0)
            input = &columns[k];
        if (strcmp(columns[k].name, "target") == 0)
            target = &columns[k];
    }
    if (!input || !target)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "bert: the data has no column \"%s\", which the model needs",
                          input ? "target" : "input");
    if (input->desc.rank != 1 ||
        (input->desc.dtype != TUTTI_I32 && input->desc.dtype != TUTTI_I64))
        return tutti_fail(err, TUTTI_E_ARG,
                          "bert: the input is %s, want tokens (T) of I32 or I64",
                          tutti_desc_text(&input->desc, text, sizeof text));
    if (target->desc.rank != 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "bert: the target is %s, want one label a sample",
                          tutti_desc_text(&target->desc, text, sizeof text));
    *ret_length = input->desc.dim[0];
    *ret_vocabulary = b->part.vocabulary > 0 ? b->part.vocabulary : input->classes;
    *ret_labels = b->labels > 0 ? b->labels : target->classes;
    if (*ret_vocabulary < 2 || *ret_labels < 2)
        return tutti_fail(err, TUTTI_E_ARG,
                          "bert: the data does not say how many %s there are; set %s",
                          *ret_vocabulary < 2 ? "tokens" : "labels",
                          *ret_vocabulary < 2 ? "vocab_size" : "num_labels");
    if (input->classes > *ret_vocabulary)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "bert: vocab_size is %lld, the data has %lld tokens",
                          (long long)*ret_vocabulary, (long long)input->classes);
    if (target->classes > *ret_labels)
        return tutti_fail(err, TUTTI_E_RANGE, "bert: num_labels is %lld, the data has %lld",
                          (long long)*ret_labels, (long long)target->classes);
    return TUTTI_OK;
}

static tutti_status add_embeddings(const bert_part *p, tutti_module parent, tutti_error *err)
{
    const tutti_attr attr[7] = {tutti_attr_i("vocab_size", p->vocabulary),
                                tutti_attr_i("max_position_embeddings", p->length),
                                tutti_attr_i("type_vocab_size", p->types),
                                tutti_attr_i("hidden_size", p->width),
                                tutti_attr_f("dropout", p->dropout),
                                tutti_attr_i("position_offset", p->offset),
                                tutti_attr_f("layer_norm_eps", p->eps)};
    return model_add(p->modules, parent, "embeddings", "bert_embeddings", attr, 7, NULL, err);
}

static tutti_status add_layers(const bert *b, tutti_module parent, tutti_error *err)
{
    const bert_part *p = &b->part;
    const tutti_attr attr[5] = {
        tutti_attr_i("hidden_size", p->width), tutti_attr_i("num_attention_heads", p->heads),
        tutti_attr_i("intermediate_size", p->inner), tutti_attr_f("dropout", p->dropout),
        tutti_attr_f("layer_norm_eps", p->eps)};
    tutti_module encoder, layers;
    tutti_status s =
        model_add(p->modules, parent, "encoder", "sequential", NULL, 0, &encoder, err);
    if (!s)
        s = model_add(p->modules, encoder, "layer", "sequential", NULL, 0, &layers, err);
    for (int64_t k = 0; k < b->layers && !s; k++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%lld", (long long)k);
        s = model_add(p->modules, layers, name, "bert_layer", attr, 5, NULL, err);
    }
    return s;
}

/* cls.predictions, under the root. */
static tutti_status add_predictions(const bert_part *p, tutti_module root, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("vocab_size", p->vocabulary),
                                tutti_attr_i("hidden_size", p->width),
                                tutti_attr_f("layer_norm_eps", p->eps)};
    tutti_module cls;
    const tutti_status s = model_add(p->modules, root, "cls", "sequential", NULL, 0, &cls, err);
    return s ? s
             : model_add(p->modules, cls, "predictions", "bert_predictions", attr, 3, NULL,
                         err);
}

/* bert.pooler, then dropout and classifier under the root. */
static tutti_status add_classifier(const bert_part *p, tutti_module root, tutti_module inner,
                                   int64_t labels, tutti_error *err)
{
    tutti_module pooler;
    tutti_status s;
    if ((s = model_add(p->modules, inner, "pooler", "sequential", NULL, 0, &pooler, err)) ||
        (s = bert_linear(p->modules, pooler, "dense", p->width, p->width, err)) ||
        (s = model_add(p->modules, pooler, "activation", "tanh", NULL, 0, NULL, err)) ||
        (s = bert_dropout(p->modules, root, p->dropout, err)))
        return s;
    return bert_linear(p->modules, root, "classifier", p->width, labels, err);
}

static tutti_status bert_build(void *self, tutti_module root, const tutti_column *columns,
                               uint32_t ncolumns, tutti_error *err)
{
    bert *b = self;
    bert_part *p = &b->part;
    int64_t length = 0, vocabulary = 0, labels = 0;
    tutti_module inner;
    tutti_status s = find_inputs(b, columns, ncolumns, err);
    if (!s)
        s = b->classifies
                ? label_columns(b, columns, ncolumns, &length, &vocabulary, &labels, err)
                : token_columns("bert", columns, ncolumns, p->vocabulary, &length, &vocabulary,
                                err);
    if (s)
        return s;
    p->vocabulary = vocabulary;
    if (p->length <= 0)
        p->length = length + p->offset;
    if (length > p->length - p->offset)
        return tutti_fail(
            err, TUTTI_E_RANGE,
            "bert: max_position_embeddings is %lld, the data has sequences of %lld",
            (long long)p->length, (long long)length);
    if ((s = model_add(p->modules, root, "bert", "sequential", NULL, 0, &inner, err)) ||
        (s = add_embeddings(p, inner, err)) || (s = add_layers(b, inner, err)))
        return s;
    return b->classifies ? add_classifier(p, root, inner, labels, err)
                         : add_predictions(p, root, err);
}

/* ---- graph ---- */

/* (B, 1, 1, T): -1e30 for the keys where `mask` (B, T) is 0, 0 where it is 1. */
static tutti_value mask_scores(tutti_graph *g, tutti_value mask)
{
    const tutti_desc d = *g->desc(g, mask);
    const int64_t shape[4] = {d.dim[0], 1, 1, d.dim[1]};
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32);
    if (d.dtype != TUTTI_F32)
        mask = g->emit(g, "cast", &mask, 1, &f32, 1, NULL, 0);
    return tutti_reshape(g, tutti_affine(g, mask, 1e30, -1e30), shape, 4);
}

/* The vector of the first token: (B, T, C) -> (B, C). */
static tutti_value first_token(tutti_graph *g, tutti_value x, int64_t width)
{
    const int64_t batch = g->desc(g, x)->dim[0];
    const int64_t begin[3] = {0, 0, 0}, end[3] = {batch, 1, width}, step[3] = {1, 1, 1};
    const int64_t flat[2] = {batch, width};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 3),
                               tutti_attr_list("end", end, 3),
                               tutti_attr_list("stride", step, 3)};
    return tutti_reshape(g, g->emit(g, "slice", &x, 1, cut, 3, NULL, 0), flat, 2);
}

/* inputs: tokens (B, T), then their types and the mask, as the data have them. */
static tutti_status bert_trace(void *self, tutti_graph *g, tutti_module root,
                               const tutti_value *inputs, uint32_t ninputs,
                               tutti_value *outputs, uint32_t noutputs)
{
    const bert *b = self;
    const tutti_module_v1 *s = b->part.modules;
    const tutti_module inner = s->child(s->ctx, root, "bert");
    const tutti_module layers = s->child(s->ctx, s->child(s->ctx, inner, "encoder"), "layer");
    (void)noutputs;
    const tutti_value bias = b->has_mask ? mask_scores(g, inputs[ninputs - 1]) : 0;
    tutti_value x =
        bert_call(s, g, inner, "embeddings", inputs[0], b->has_types ? inputs[1] : 0);
    for (uint32_t k = 0; s->child_at(s->ctx, layers, k); k++) {
        const tutti_value in[2] = {x, bias};
        (void)g->call(g, s->child_at(s->ctx, layers, k), in, bias ? 2 : 1, &x, 1);
    }
    if (b->classifies) {
        x = model_call(s, g, inner, "pooler", first_token(g, x, b->part.width));
        outputs[0] = model_call(s, g, root, "classifier", bert_drop(s, g, root, x));
    } else {
        const tutti_module words =
            s->child(s->ctx, s->child(s->ctx, inner, "embeddings"), "word_embeddings");
        outputs[0] = bert_call(s, g, s->child(s->ctx, root, "cls"), "predictions", x,
                               g->weight(g, words, "weight"));
    }
    return g->status(g);
}

/* ---- the object ---- */

static tutti_status bert_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "hidden_size");
    const int64_t heads = tutti_param_i64(params, "num_attention_heads");
    if (width % heads)
        return tutti_fail(err, TUTTI_E_ARG,
                          "bert: hidden_size %lld does not divide into %lld attention heads",
                          (long long)width, (long long)heads);
    bert *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "bert: no memory");
    const int classifies = strcmp(tutti_param_str(params, "head"), "classification") == 0;
    b->classifies = classifies;
    b->layers = tutti_param_i64(params, "num_hidden_layers");
    b->labels = tutti_param_i64(params, "num_labels");
    b->part.modules = host->query(host->ctx, TUTTI_MODULE_V1);
    b->part.vocabulary = tutti_param_i64(params, "vocab_size");
    b->part.length = tutti_param_i64(params, "max_position_embeddings");
    b->part.types = tutti_param_i64(params, "type_vocab_size");
    b->part.width = width;
    b->part.heads = heads;
    b->part.inner = tutti_param_is_set(params, "intermediate_size")
                        ? tutti_param_i64(params, "intermediate_size")
                        : 4 * width;
    b->part.offset = tutti_param_i64(params, "position_offset");
    b->part.dropout = tutti_param_f64(params, "dropout");
    b->part.eps = tutti_param_f64(params, "layer_norm_eps");
    b->inputs[0] = "input";
    b->table = (tutti_model_v1){.struct_size = sizeof b->table,
                                .noutputs = 1,
                                .inputs = b->inputs,
                                .targets = classifier_targets,
                                .build = bert_build,
                                .trace = bert_trace,
                                .loss = model_cross_entropy};
    *ret_self = b;
    return TUTTI_OK;
}

static const void *bert_query(void *self, const char *id)
{
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &((bert *)self)->table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = bert_open,
                                  .close = bert_part_close,
                                  .query = bert_query};
static const tutti_object object = TUTTI_OBJECT_INIT("bert", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {
    &object,      &bert_embeddings,  &bert_layer, &bert_self_attention,
    &bert_output, &bert_predictions, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.bert", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
