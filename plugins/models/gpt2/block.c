/* block.c - gpt2_block: x + attn(ln_1(x)), then x + mlp(ln_2(x)). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gpt2.h"

#include "tutti/layer.h"

#include <stdlib.h>

typedef struct block {
    const tutti_module_v1 *modules;
    int64_t width;
    int64_t heads;
    int64_t alibi;
    double dropout;
    double std;
    double proj_std; /* of what is added to x */
} block;

static tutti_status gpt2_block_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    block *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "gpt2_block: no memory");
    b->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    b->width = tutti_param_i64(params, "embed_dim");
    b->heads = tutti_param_i64(params, "num_heads");
    b->alibi = tutti_param_i64(params, "alibi");
    b->dropout = tutti_param_f64(params, "dropout");
    b->std = tutti_param_f64(params, "std");
    b->proj_std = tutti_param_f64(params, "proj_std");
    *ret_self = b;
    return TUTTI_OK;
}

static tutti_status gpt2_block_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status add_norm(const block *b, tutti_module m, const char *name, tutti_error *err)
{
    const tutti_attr attr = tutti_attr_i("num_features", b->width);
    return model_add(b->modules, m, name, "layer_norm", &attr, 1, NULL, err);
}

static tutti_status add_attention(const block *b, tutti_module m, tutti_error *err)
{
    const tutti_attr attr[6] = {
        tutti_attr_i("embed_dim", b->width), tutti_attr_i("num_heads", b->heads),
        tutti_attr_f("dropout", b->dropout), tutti_attr_i("alibi", b->alibi),
        tutti_attr_f("std", b->std),         tutti_attr_f("proj_std", b->proj_std)};
    return model_add(b->modules, m, "attn", "causal_self_attention", attr, 6, NULL, err);
}

static tutti_status add_linear(const block *b, tutti_module m, const char *name, int64_t in,
                               int64_t out, double std, tutti_error *err)
{
    const tutti_attr attr[5] = {
        tutti_attr_i("in_features", in), tutti_attr_i("out_features", out),
        tutti_attr_i("transposed", 1), tutti_attr_i("init", GPT2_INIT_NORMAL),
        tutti_attr_f("std", std)};
    return model_add(b->modules, m, name, "linear", attr, 5, NULL, err);
}

static tutti_status add_dropout(const block *b, tutti_module m, const char *name,
                                tutti_error *err)
{
    const tutti_attr p = tutti_attr_f("p", b->dropout);
    return b->dropout > 0.0 ? model_add(b->modules, m, name, "dropout", &p, 1, NULL, err)
                            : TUTTI_OK;
}

static tutti_status gpt2_block_build(void *self, tutti_module m, tutti_error *err)
{
    const block *b = self;
    const tutti_attr tanh_form = tutti_attr_i("approximate", GPT2_GELU_TANH);
    const int64_t inner = 4 * b->width;
    tutti_module mlp;
    tutti_status s;
    if ((s = add_norm(b, m, "ln_1", err)) || (s = add_attention(b, m, err)) ||
        (s = add_dropout(b, m, "drop", err)) || (s = add_norm(b, m, "ln_2", err)) ||
        (s = model_add(b->modules, m, "mlp", "sequential", NULL, 0, &mlp, err)) ||
        (s = add_linear(b, mlp, "c_fc", b->width, inner, b->std, err)) ||
        (s = model_add(b->modules, mlp, "act", "gelu", &tanh_form, 1, NULL, err)) ||
        (s = add_linear(b, mlp, "c_proj", inner, b->width, b->proj_std, err)))
        return s;
    return add_dropout(b, mlp, "drop", err);
}

static tutti_status gpt2_block_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    const tutti_module_v1 *s = ((block *)self)->modules;
    (void)nout;
    const tutti_value attended[2] = {model_call(s, g, m, "ln_1", in[0]), nin > 1 ? in[1] : 0};
    tutti_value y = 0;
    (void)g->call(g, s->child(s->ctx, m, "attn"), attended, nin > 1 ? 2 : 1, &y, 1);
    if (s->child(s->ctx, m, "drop"))
        y = model_call(s, g, m, "drop", y);
    const tutti_value x = tutti_add(g, in[0], y);
    y = model_call(s, g, m, "mlp", model_call(s, g, m, "ln_2", x));
    out[0] = tutti_add(g, x, y);
    return g->status(g);
}

static const void *gpt2_block_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = gpt2_block_build, .trace = gpt2_block_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = gpt2_block_open,
                                  .close = gpt2_block_close,
                                  .query = gpt2_block_query};
const tutti_object gpt2_block = TUTTI_OBJECT_INIT("gpt2_block", TUTTI_KIND_LAYER, &calls);
