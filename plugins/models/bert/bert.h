/* bert.h - what the model's parts share: settings, and the modules that several of them have. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BERT_H
#define PLUGIN_BERT_H

#include "../tokens.h"

#include "tutti/layer.h"

enum { BERT_INIT_NORMAL = 2 }; /* of linear's setting init */

/* One module; each kind reads the settings that it has. */
typedef struct bert_part {
    const tutti_module_v1 *modules;
    int64_t vocabulary;
    int64_t length; /* most tokens of a sequence */
    int64_t types;
    int64_t width;
    int64_t heads;
    int64_t inner;  /* of the perceptron; of the product in bert_output */
    int64_t offset; /* the first position's row */
    double dropout;
    double eps; /* of the norms */
} bert_part;

tutti_status bert_part_open(const tutti_host *host, const tutti_params *params, void **ret_self,
                            tutti_error *err);
tutti_status bert_part_close(void *self, tutti_error *err);

extern const tutti_object bert_embeddings, bert_layer, bert_self_attention, bert_output,
    bert_predictions;

/* The standard deviation that all weights start with. */
static const double bert_std = 0.02;

static inline tutti_status bert_linear(const tutti_module_v1 *m, tutti_module parent,
                                       const char *name, int64_t in, int64_t out,
                                       tutti_error *err)
{
    const tutti_attr attr[4] = {
        tutti_attr_i("in_features", in), tutti_attr_i("out_features", out),
        tutti_attr_i("init", BERT_INIT_NORMAL), tutti_attr_f("std", bert_std)};
    return model_add(m, parent, name, "linear", attr, 4, NULL, err);
}

static inline tutti_status bert_norm(const tutti_module_v1 *m, tutti_module parent,
                                     int64_t width, double eps, tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("num_features", width), tutti_attr_f("eps", eps)};
    return model_add(m, parent, "LayerNorm", "layer_norm", attr, 2, NULL, err);
}

/* A dropout called "dropout", where there is any. */
static inline tutti_status bert_dropout(const tutti_module_v1 *m, tutti_module parent, double p,
                                        tutti_error *err)
{
    const tutti_attr attr = tutti_attr_f("p", p);
    return p > 0.0 ? model_add(m, parent, "dropout", "dropout", &attr, 1, NULL, err) : TUTTI_OK;
}

/* Runs child "dropout" on x where there is one. */
static inline tutti_value bert_drop(const tutti_module_v1 *s, tutti_graph *g, tutti_module m,
                                    tutti_value x)
{
    return s->child(s->ctx, m, "dropout") ? model_call(s, g, m, "dropout", x) : x;
}

/* Runs child `name` of `m` on x and, where it is not 0, `more`; 0 after an error. */
static inline tutti_value bert_call(const tutti_module_v1 *s, tutti_graph *g, tutti_module m,
                                    const char *name, tutti_value x, tutti_value more)
{
    const tutti_value in[2] = {x, more};
    tutti_value y = 0;
    return g->call(g, s->child(s->ctx, m, name), in, more ? 2 : 1, &y, 1) ? 0 : y;
}

#endif
