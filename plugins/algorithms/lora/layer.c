/* layer.c - lora_linear: a linear layer with two narrow ones beside it, whose result is added. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lora.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

typedef struct lora_linear {
    const tutti_module_v1 *modules;
    int64_t in, out, rank;
    double scale, dropout;
    int32_t bias, transposed;
} lora_linear;

/* Place of "normal" in the enum `init` of linear. */
enum { LORA_INIT_NORMAL = 2 };

static tutti_status lora_layer_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const tutti_module_v1 *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "lora_linear: this host has no " TUTTI_MODULE_V1);
    lora_linear *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "lora_linear: no memory");
    *l = (lora_linear){.modules = modules,
                       .in = tutti_param_i64(params, "in_features"),
                       .out = tutti_param_i64(params, "out_features"),
                       .rank = tutti_param_i64(params, "rank"),
                       .dropout = tutti_param_f64(params, "dropout"),
                       .bias = tutti_param_i64(params, "bias") != 0,
                       .transposed = tutti_param_i64(params, "transposed") != 0};
    l->scale = tutti_param_f64(params, "alpha") / (double)l->rank;
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status lora_add(const lora_linear *l, tutti_module m, const char *name,
                             const char *kind, const tutti_attr *attr, uint32_t nattr,
                             tutti_error *err)
{
    tutti_module child;
    const tutti_status s = l->modules->create(l->modules->ctx, kind, attr, nattr, &child, err);
    return s ? s : l->modules->add(l->modules->ctx, m, name, child, err);
}

/* A starts as PyTorch's linear layers do, B at zero, so that nothing changes at first. */
static tutti_status lora_add_pair(const lora_linear *l, tutti_module m, tutti_error *err)
{
    const tutti_attr a[3] = {tutti_attr_i("in_features", l->in),
                             tutti_attr_i("out_features", l->rank), tutti_attr_i("bias", 0)};
    const tutti_attr b[5] = {tutti_attr_i("in_features", l->rank),
                             tutti_attr_i("out_features", l->out), tutti_attr_i("bias", 0),
                             tutti_attr_i("init", LORA_INIT_NORMAL), tutti_attr_f("std", 0.0)};
    const tutti_attr p = tutti_attr_f("p", l->dropout);
    tutti_status s = TUTTI_OK;
    if (l->dropout > 0.0)
        s = lora_add(l, m, "lora_dropout", "dropout", &p, 1, err);
    if (!s)
        s = lora_add(l, m, "lora_A", "linear", a, 3, err);
    return s ? s : lora_add(l, m, "lora_B", "linear", b, 5, err);
}

/* The weights are those of the linear layer that this one was, which `rebuild` keeps. */
static tutti_status lora_layer_build(void *self, tutti_module m, tutti_error *err)
{
    const lora_linear *l = self;
    const tutti_module_v1 *s = l->modules;
    const tutti_init zero = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    const tutti_desc weight = {{l->transposed ? l->in : l->out, l->transposed ? l->out : l->in},
                               2,
                               TUTTI_F32},
                     bias = {{l->out}, 1, TUTTI_F32};
    tutti_status status =
        s->weight(s->ctx, m, "weight", &weight, &zero, TUTTI_WEIGHT_TRAINABLE, err);
    if (!status && l->bias)
        status = s->weight(s->ctx, m, "bias", &bias, &zero,
                           TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
    return status ? status : lora_add_pair(l, m, err);
}

static tutti_value lora_call(const lora_linear *l, tutti_graph *g, tutti_module m,
                             const char *name, tutti_value x)
{
    const tutti_module child = l->modules->child(l->modules->ctx, m, name);
    tutti_value y = 0;
    return !child ? x : g->call(g, child, &x, 1, &y, 1) ? 0 : y;
}

static tutti_status lora_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    const lora_linear *l = self;
    float scale = (float)l->scale;
    const tutti_tensor number = {&scale, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    (void)nin, (void)nout;
    const tutti_value y =
        tutti_matmul(g, in[0], g->weight(g, m, "weight"), l->bias ? g->weight(g, m, "bias") : 0,
                     0, l->transposed == 0);
    tutti_value z = lora_call(l, g, m, "lora_dropout", in[0]);
    z = lora_call(l, g, m, "lora_B", lora_call(l, g, m, "lora_A", z));
    out[0] = tutti_add(g, y, tutti_mul(g, z, g->constant(g, &number)));
    return g->status(g);
}

tutti_module lora_next(const tutti_module_v1 *s, tutti_module m)
{
    do
        m = s->next(s->ctx, m);
    while (m && strcmp(s->kind(s->ctx, m), "lora_linear") != 0);
    return m;
}

SURGERY_LAYER(lora_linear, lora_layer_open, lora_layer_build, lora_layer_trace, surgery_close);
