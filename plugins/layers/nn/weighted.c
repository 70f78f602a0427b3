/* weighted.c - layers with weights: conv2d, linear, batch_norm2d. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"
#include "tutti/rng.h"
#include "tutti/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- conv2d: weight (Cout, K, K, Cin / groups), bias (Cout) ---- */

enum {
    CONV_IN,
    CONV_OUT,
    CONV_KERNEL,
    CONV_STRIDE,
    CONV_PADDING,
    CONV_DILATION,
    CONV_GROUPS,
    CONV_BIAS
};

static tutti_status nn_conv2d_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"in_channels", "out_channels", "kernel_size", "stride",
                                        "padding",     "dilation",     "groups",      "bias"};
    const int64_t in = tutti_param_i64(params, "in_channels");
    const int64_t out = tutti_param_i64(params, "out_channels");
    const int64_t groups = tutti_param_i64(params, "groups");
    if (in % groups || out % groups)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "conv2d: %lld channels in and %lld out do not divide into %lld groups",
            (long long)in, (long long)out, (long long)groups);
    const tutti_status s = nn_open(host, params, ret_self, err);
    for (int k = 0; s == TUTTI_OK && k < NN_MAX; k++)
        ((nn_layer *)*ret_self)->i[k] = tutti_param_i64(params, names[k]);
    const tutti_state_v1 *state = host->query(host->ctx, TUTTI_STATE_V1); /* may be missing */
    if (s == TUTTI_OK && state)
        ((nn_layer *)*ret_self)->seed = *state->seed;
    return s;
}

/* Filter k of a group: channel k of its input at the centre, and 0 elsewhere; where the input has no channel k, uniform
 * in +-1 / sqrt(fan-in). */
static void conv2d_dirac(const nn_layer *l, tutti_module m, const int64_t dim[4], float *w)
{
    const int64_t size = dim[1] * dim[2] * dim[3], share = dim[0] / l->i[CONV_GROUPS];
    const int64_t centre = (dim[1] / 2 * dim[2] + dim[2] / 2) * dim[3];
    const double bound = 1.0 / sqrt((double)size);
    for (int64_t k = 0; k < dim[0]; k++, w += size) {
        memset(w, 0, (size_t)size * sizeof *w);
        if (k % share < dim[3]) {
            w[centre + k % share] = 1.0f;
            continue;
        }
        tutti_stream s = tutti_stream_at(
            l->seed, TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("conv2d"), m, (uint64_t)k);
        for (int64_t j = 0; j < size; j++)
            w[j] = (float)(bound * (2.0 * tutti_stream_uniform(&s) - 1.0));
    }
}

static tutti_status conv2d_weight_dirac(const nn_layer *l, tutti_module m, const int64_t dim[4],
                                        tutti_error *err)
{
    const size_t count = (size_t)(dim[0] * dim[1] * dim[2] * dim[3]);
    float *w = malloc(count * sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for %zu weights", count);
    conv2d_dirac(l, m, dim, w);
    const tutti_init init = {.kind = TUTTI_INIT_DATA, .data = w};
    const tutti_status s =
        nn_weight(l, m, "weight", dim, 4, &init, TUTTI_WEIGHT_TRAINABLE, err);
    free(w);
    return s;
}

static tutti_status nn_conv2d_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const int64_t k = l->i[CONV_KERNEL], in = l->i[CONV_IN] / l->i[CONV_GROUPS];
    const int64_t dim[4] = {l->i[CONV_OUT], k, k, in};
    tutti_init init =
        nn_init(l, (double)(k * k * in), (double)(k * k * l->i[CONV_OUT] / l->i[CONV_GROUPS]));
    const int32_t dirac = l->text && strcmp(l->text, "dirac") == 0;
    const tutti_status s =
        dirac ? conv2d_weight_dirac(l, m, dim, err)
              : nn_weight(l, m, "weight", dim, 4, &init, TUTTI_WEIGHT_TRAINABLE, err);
    if (s || !l->i[CONV_BIAS])
        return s;
    if (dirac || init.kind != TUTTI_INIT_UNIFORM)
        init = nn_constant(0.0);
    return nn_weight(l, m, "bias", dim, 1, &init,
                     TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
}

static tutti_status nn_conv2d_trace(void *self, tutti_graph *g, tutti_module m,
                                    const tutti_value *in, uint32_t nin, tutti_value *out,
                                    uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    const int64_t stride[2] = {l->i[CONV_STRIDE], l->i[CONV_STRIDE]};
    const int64_t padding[2] = {l->i[CONV_PADDING], l->i[CONV_PADDING]};
    const int64_t dilation[2] = {l->i[CONV_DILATION], l->i[CONV_DILATION]};
    out[0] = tutti_conv2d(g, in[0], g->weight(g, m, "weight"),
                          l->i[CONV_BIAS] ? g->weight(g, m, "bias") : 0, stride, padding,
                          dilation, l->i[CONV_GROUPS]);
    return g->status(g);
}

NN_OBJECT(conv2d, nn_conv2d_open, nn_conv2d_build, nn_conv2d_trace)

/* ---- linear: weight (out, in), transposed (in, out); bias (out) ---- */

enum { LINEAR_IN, LINEAR_OUT, LINEAR_BIAS, LINEAR_TRANSPOSED };

static tutti_status nn_linear_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[LINEAR_IN] = tutti_param_i64(params, "in_features");
    l->i[LINEAR_OUT] = tutti_param_i64(params, "out_features");
    l->i[LINEAR_BIAS] = tutti_param_i64(params, "bias");
    l->i[LINEAR_TRANSPOSED] = tutti_param_i64(params, "transposed");
    return TUTTI_OK;
}

static tutti_status nn_linear_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const int64_t dim[3] = {l->i[LINEAR_OUT], l->i[LINEAR_IN], l->i[LINEAR_OUT]};
    tutti_init init = nn_init(l, (double)dim[1], (double)dim[0]);
    const tutti_status s = nn_weight(l, m, "weight", dim + (l->i[LINEAR_TRANSPOSED] != 0), 2,
                                     &init, TUTTI_WEIGHT_TRAINABLE, err);
    if (s || !l->i[LINEAR_BIAS])
        return s;
    if (init.kind != TUTTI_INIT_UNIFORM)
        init = nn_constant(0.0);
    return nn_weight(l, m, "bias", dim, 1, &init,
                     TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
}

static tutti_status nn_linear_trace(void *self, tutti_graph *g, tutti_module m,
                                    const tutti_value *in, uint32_t nin, tutti_value *out,
                                    uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    out[0] = tutti_matmul(g, in[0], g->weight(g, m, "weight"),
                          l->i[LINEAR_BIAS] ? g->weight(g, m, "bias") : 0, 0,
                          l->i[LINEAR_TRANSPOSED] == 0);
    return g->status(g);
}

NN_OBJECT(linear, nn_linear_open, nn_linear_build, nn_linear_trace)

/* ---- batch_norm2d: Ioffe and Szegedy 2015, over all axes but the last ---- */

static tutti_status nn_batch_norm2d_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[0] = tutti_param_i64(params, "num_features");
    l->f[0] = tutti_param_f64(params, "eps");
    l->f[1] = tutti_param_f64(params, "momentum");
    return TUTTI_OK;
}

static tutti_status nn_batch_norm2d_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const tutti_init zero = nn_constant(0.0), one = nn_constant(1.0);
    const uint32_t trained = TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY;
    const tutti_init *scale = l->text && strcmp(l->text, "zero") == 0 ? &zero : &one;
    tutti_status s = nn_weight(l, m, "weight", l->i, 1, scale, trained, err);
    if (s == TUTTI_OK)
        s = nn_weight(l, m, "bias", l->i, 1, &zero, trained, err);
    if (s == TUTTI_OK)
        s = nn_weight(l, m, "running_mean", l->i, 1, &zero, 0, err);
    if (s == TUTTI_OK)
        s = nn_weight(l, m, "running_var", l->i, 1, &one, 0, err);
    return s;
}

static tutti_status nn_batch_norm2d_trace(void *self, tutti_graph *g, tutti_module m,
                                          const tutti_value *in, uint32_t nin, tutti_value *out,
                                          uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    const tutti_value all[5] = {in[0], g->weight(g, m, "weight"), g->weight(g, m, "bias"),
                                g->weight(g, m, "running_mean"),
                                g->weight(g, m, "running_var")};
    const tutti_attr attr[2] = {tutti_attr_f("eps", l->f[0]),
                                tutti_attr_f("momentum", l->f[1])};
    tutti_value y[5] = {0};
    if (g->mode != TUTTI_MODE_TRAIN) {
        out[0] = g->emit(g, "batch_norm_eval", all, 5, attr, 1, NULL, 0);
        return g->status(g);
    }
    out[0] = g->emit(g, "batch_norm", all, 5, attr, 2, y, 5);
    g->assign(g, all[3], y[3]);
    g->assign(g, all[4], y[4]);
    return g->status(g);
}

NN_OBJECT(batch_norm2d, nn_batch_norm2d_open, nn_batch_norm2d_build, nn_batch_norm2d_trace)
