/* plain.c - layers without weights: activations, pooling, shapes, dropout, sequences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

#include <string.h>

static tutti_status nn_no_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* A layer that is one unary operation of its own name. */
#define NN_UNARY(name)                                                                         \
    static tutti_status nn_##name##_trace(void *self, tutti_graph *g, tutti_module m,          \
                                          const tutti_value *in, uint32_t nin,                 \
                                          tutti_value *out, uint32_t nout)                     \
    {                                                                                          \
        (void)self, (void)m, (void)nin, (void)nout;                                            \
        out[0] = tutti_op1(g, #name, in[0]);                                                   \
        return g->status(g);                                                                   \
    }                                                                                          \
    NN_OBJECT(name, nn_open, nn_no_build, nn_##name##_trace)

NN_UNARY(relu)
NN_UNARY(tanh)
NN_UNARY(sigmoid)
NN_UNARY(silu)

/* x Phi(x), or the form with tanh that GPT-2 and BERT use. */
static tutti_status nn_gelu_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    const char *form = tutti_param_str(params, "approximate");
    if (s == TUTTI_OK)
        ((nn_layer *)*ret_self)->i[0] = form && strcmp(form, "tanh") == 0;
    return s;
}

static tutti_status nn_gelu_trace(void *self, tutti_graph *g, tutti_module m,
                                  const tutti_value *in, uint32_t nin, tutti_value *out,
                                  uint32_t nout)
{
    (void)m, (void)nin, (void)nout;
    const tutti_attr form = tutti_attr_i("approximate", 1);
    out[0] = g->emit(g, "gelu", in, 1, &form, ((nn_layer *)self)->i[0] ? 1 : 0, NULL, 0);
    return g->status(g);
}
NN_OBJECT(gelu, nn_gelu_open, nn_no_build, nn_gelu_trace)

static tutti_status nn_identity_trace(void *self, tutti_graph *g, tutti_module m,
                                      const tutti_value *in, uint32_t nin, tutti_value *out,
                                      uint32_t nout)
{
    (void)self, (void)m, (void)nin, (void)nout;
    out[0] = in[0];
    return g->status(g);
}
NN_OBJECT(identity, nn_open, nn_no_build, nn_identity_trace)

/* ---- pooling over (B, H, W, C) ---- */

static tutti_status nn_pool_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[0] = tutti_param_i64(params, "kernel_size");
    l->i[1] =
        tutti_param_is_set(params, "stride") ? tutti_param_i64(params, "stride") : l->i[0];
    l->i[2] = tutti_param_i64(params, "padding");
    return TUTTI_OK;
}

static tutti_status nn_pool(void *self, tutti_graph *g, const char *op, const tutti_value *in,
                            tutti_value *out)
{
    const nn_layer *l = self;
    const int64_t kernel[2] = {l->i[0], l->i[0]}, stride[2] = {l->i[1], l->i[1]};
    const int64_t padding[2] = {l->i[2], l->i[2]};
    const tutti_attr attr[3] = {tutti_attr_list("kernel", kernel, 2),
                                tutti_attr_list("stride", stride, 2),
                                tutti_attr_list("padding", padding, 2)};
    out[0] = g->emit(g, op, in, 1, attr, 3, NULL, 0);
    return g->status(g);
}

static tutti_status nn_max_pool2d_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    (void)m, (void)nin, (void)nout;
    return nn_pool(self, g, "max_pool2d", in, out);
}
NN_OBJECT(max_pool2d, nn_pool_open, nn_no_build, nn_max_pool2d_trace)

static tutti_status nn_avg_pool2d_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    (void)m, (void)nin, (void)nout;
    return nn_pool(self, g, "avg_pool2d", in, out);
}
NN_OBJECT(avg_pool2d, nn_pool_open, nn_no_build, nn_avg_pool2d_trace)

/* (B, H, W, C) -> (B, C) */
static tutti_status nn_global_avg_pool_trace(void *self, tutti_graph *g, tutti_module m,
                                             const tutti_value *in, uint32_t nin,
                                             tutti_value *out, uint32_t nout)
{
    (void)self, (void)m, (void)nin, (void)nout;
    const int64_t axes[2] = {1, 2};
    out[0] = tutti_reduce(g, "mean", in[0], axes, 2, 0);
    return g->status(g);
}
NN_OBJECT(global_avg_pool, nn_open, nn_no_build, nn_global_avg_pool_trace)

/* (B, ...) -> (B, N) */
static tutti_status nn_flatten_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    (void)self, (void)m, (void)nin, (void)nout;
    const int64_t shape[2] = {g->desc(g, in[0])->dim[0], -1};
    out[0] = tutti_reshape(g, in[0], shape, 2);
    return g->status(g);
}
NN_OBJECT(flatten, nn_open, nn_no_build, nn_flatten_trace)

/* ---- dropout: each place in the tree draws its own stream ---- */

static tutti_status nn_dropout_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s == TUTTI_OK)
        ((nn_layer *)*ret_self)->f[0] = tutti_param_f64(params, "p");
    return s;
}

static tutti_status nn_dropout_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    out[0] = in[0];
    if (g->mode != TUTTI_MODE_TRAIN || l->f[0] == 0.0)
        return g->status(g);
    const tutti_attr attr[2] = {tutti_attr_f("p", l->f[0]), tutti_attr_i("stream", (int64_t)m)};
    out[0] = g->emit(g, "dropout", in, 1, attr, 2, NULL, 0);
    return g->status(g);
}
NN_OBJECT(dropout, nn_dropout_open, nn_no_build, nn_dropout_trace)

/* ---- sequential: its children, one after the other; what comes beside the first input goes to each ---- */

static tutti_status nn_sequential_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    const tutti_module_v1 *modules = ((nn_layer *)self)->modules;
    tutti_value x[8] = {in[0]}, y = 0;
    (void)nout;
    if (nin > sizeof x / sizeof *x)
        return g->fail(g, TUTTI_E_ARG, "sequential: wants 8 inputs at most");
    for (uint32_t k = 1; k < nin; k++)
        x[k] = in[k];
    for (uint32_t k = 0; modules->child_at(modules->ctx, m, k); k++) {
        if (g->call(g, modules->child_at(modules->ctx, m, k), x, nin, &y, 1))
            return g->status(g);
        x[0] = y;
    }
    out[0] = x[0];
    return g->status(g);
}
NN_OBJECT(sequential, nn_open, nn_no_build, nn_sequential_trace)
