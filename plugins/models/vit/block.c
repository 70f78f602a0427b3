/* block.c - vit_encoder, a row of blocks, and vit_block: Dosovitskiy et al. 2021, equations 2 to 4. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "vit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Settings of both; a block has no tokens and layers. */
typedef struct part {
    const tutti_module_v1 *modules;
    int64_t tokens;
    int64_t width;
    int64_t layers;
    int64_t heads;
    int64_t inner; /* of the perceptron */
    double dropout;
    double eps;
} part;

static tutti_status vit_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    part *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "vit: no memory for a layer");
    p->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    p->tokens = tutti_param_i64(params, "tokens");
    p->width = tutti_param_i64(params, "hidden_dim");
    p->layers = tutti_param_i64(params, "num_layers");
    p->heads = tutti_param_i64(params, "num_heads");
    p->inner = tutti_param_i64(params, "mlp_dim");
    p->dropout = tutti_param_f64(params, "dropout");
    p->eps = tutti_param_f64(params, "layer_norm_eps");
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status vit_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* ---- vit_block ---- */

/* Normal numbers with the variance of Glorot and Bengio 2010. */
static tutti_status add_linear(const part *p, tutti_module m, const char *name, int64_t in,
                               int64_t out, tutti_error *err)
{
    const tutti_attr attr[4] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out),
                                tutti_attr_i("init", LINEAR_NORMAL),
                                tutti_attr_f("std", sqrt(2.0 / (double)(in + out)))};
    return model_add(p->modules, m, name, "linear", attr, 4, NULL, err);
}

static tutti_status add_mlp(const part *p, tutti_module m, tutti_error *err)
{
    tutti_module mlp;
    tutti_status s;
    if ((s = model_add(p->modules, m, "mlp", "sequential", NULL, 0, &mlp, err)) ||
        (s = add_linear(p, mlp, "0", p->width, p->inner, err)) ||
        (s = model_add(p->modules, mlp, "1", "gelu", NULL, 0, NULL, err)) ||
        (s = vit_dropout(p->modules, mlp, "2", p->dropout, err)) ||
        (s = add_linear(p, mlp, "3", p->inner, p->width, err)))
        return s;
    return vit_dropout(p->modules, mlp, "4", p->dropout, err);
}

static tutti_status vit_block_build(void *self, tutti_module m, tutti_error *err)
{
    const part *p = self;
    const tutti_attr attention[2] = {tutti_attr_i("hidden_dim", p->width),
                                     tutti_attr_i("num_heads", p->heads)};
    tutti_status s;
    if ((s = vit_norm(p->modules, m, "ln_1", p->width, p->eps, err)) ||
        (s = model_add(p->modules, m, "self_attention", "in_proj_attention", attention, 2, NULL,
                       err)) ||
        (s = vit_dropout(p->modules, m, "dropout", p->dropout, err)) ||
        (s = vit_norm(p->modules, m, "ln_2", p->width, p->eps, err)))
        return s;
    return add_mlp(p, m, err);
}

static tutti_status vit_block_trace(void *self, tutti_graph *g, tutti_module m,
                                    const tutti_value *in, uint32_t nin, tutti_value *out,
                                    uint32_t nout)
{
    const tutti_module_v1 *s = ((part *)self)->modules;
    (void)nin, (void)nout;
    tutti_value y = model_call(s, g, m, "ln_1", in[0]);
    y = vit_call(s, g, m, "dropout", model_call(s, g, m, "self_attention", y));
    const tutti_value x = tutti_add(g, in[0], y);
    y = model_call(s, g, m, "mlp", model_call(s, g, m, "ln_2", x));
    out[0] = tutti_add(g, x, y);
    return g->status(g);
}

static const void *vit_block_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = vit_block_build, .trace = vit_block_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

/* ---- vit_encoder ---- */

static tutti_status vit_encoder_build(void *self, tutti_module m, tutti_error *err)
{
    const part *p = self;
    const tutti_desc positions = {{1, p->tokens, p->width}, 3, TUTTI_F32};
    const tutti_init normal = {TUTTI_INIT_NORMAL, 0, 0.0, 0.02, 0.0, NULL};
    const tutti_attr attr[5] = {
        tutti_attr_i("hidden_dim", p->width), tutti_attr_i("num_heads", p->heads),
        tutti_attr_i("mlp_dim", p->inner), tutti_attr_f("dropout", p->dropout),
        tutti_attr_f("layer_norm_eps", p->eps)};
    const tutti_module_v1 *modules = p->modules;
    tutti_module layers;
    tutti_status s = modules->weight(modules->ctx, m, "pos_embedding", &positions, &normal,
                                     TUTTI_WEIGHT_TRAINABLE, err);
    if (s || (s = vit_dropout(modules, m, "dropout", p->dropout, err)) ||
        (s = model_add(modules, m, "layers", "sequential", NULL, 0, &layers, err)))
        return s;
    for (int64_t k = 0; k < p->layers; k++) {
        char name[40];
        (void)snprintf(name, sizeof name, "encoder_layer_%lld", (long long)k);
        if ((s = model_add(modules, layers, name, "vit_block", attr, 5, NULL, err)))
            return s;
    }
    return vit_norm(modules, m, "ln", p->width, p->eps, err);
}

static tutti_status vit_encoder_trace(void *self, tutti_graph *g, tutti_module m,
                                      const tutti_value *in, uint32_t nin, tutti_value *out,
                                      uint32_t nout)
{
    const tutti_module_v1 *s = ((part *)self)->modules;
    (void)nin, (void)nout;
    tutti_value x = tutti_add(g, in[0], g->weight(g, m, "pos_embedding"));
    x = model_call(s, g, m, "layers", vit_call(s, g, m, "dropout", x));
    out[0] = model_call(s, g, m, "ln", x);
    return g->status(g);
}

static const void *vit_encoder_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = vit_encoder_build, .trace = vit_encoder_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls block_calls = {.struct_size = sizeof block_calls,
                                        .open = vit_open,
                                        .close = vit_close,
                                        .query = vit_block_query};
static const tutti_calls encoder_calls = {.struct_size = sizeof encoder_calls,
                                          .open = vit_open,
                                          .close = vit_close,
                                          .query = vit_encoder_query};
const tutti_object vit_block = TUTTI_OBJECT_INIT("vit_block", TUTTI_KIND_LAYER, &block_calls);
const tutti_object vit_encoder =
    TUTTI_OBJECT_INIT("vit_encoder", TUTTI_KIND_LAYER, &encoder_calls);
