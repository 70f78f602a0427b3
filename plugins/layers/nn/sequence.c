/* sequence.c - layers of sequence models: norms, embedding, attention. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t trained = TUTTI_WEIGHT_TRAINABLE,
                      undecayed = TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY;

/* ---- layer_norm: Ba, Kiros and Hinton 2016, over the last axis ---- */

static tutti_status nn_layer_norm_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[0] = tutti_param_i64(params, "num_features");
    l->f[0] = tutti_param_f64(params, "eps");
    return TUTTI_OK;
}

static tutti_status nn_layer_norm_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const tutti_init zero = nn_constant(0.0), one = nn_constant(1.0);
    const tutti_status s = nn_weight(l, m, "weight", l->i, 1, &one, undecayed, err);
    return s ? s : nn_weight(l, m, "bias", l->i, 1, &zero, undecayed, err);
}

static tutti_status nn_layer_norm_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    const tutti_value all[3] = {in[0], g->weight(g, m, "weight"), g->weight(g, m, "bias")};
    const tutti_attr eps = tutti_attr_f("eps", l->f[0]);
    out[0] = g->emit(g, "layer_norm", all, 3, &eps, 1, NULL, 0);
    return g->status(g);
}
NN_OBJECT(layer_norm, nn_layer_norm_open, nn_layer_norm_build, nn_layer_norm_trace)

/* ---- rms_norm: Zhang and Sennrich 2019, over the last axis ---- */

static tutti_status nn_rms_norm_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const tutti_init one = nn_constant(1.0);
    return nn_weight(l, m, "weight", l->i, 1, &one, undecayed, err);
}

static tutti_status nn_rms_norm_trace(void *self, tutti_graph *g, tutti_module m,
                                      const tutti_value *in, uint32_t nin, tutti_value *out,
                                      uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    const tutti_value all[2] = {in[0], g->weight(g, m, "weight")};
    const tutti_attr eps = tutti_attr_f("eps", l->f[0]);
    out[0] = g->emit(g, "rms_norm", all, 2, &eps, 1, NULL, 0);
    return g->status(g);
}
NN_OBJECT(rms_norm, nn_layer_norm_open, nn_rms_norm_build, nn_rms_norm_trace)

/* ---- group_norm: Wu and He 2018, over groups of channels, the last axis, and all pixels ---- */

static tutti_status nn_group_norm_open(const tutti_host *host, const tutti_params *params,
                                       void **ret_self, tutti_error *err)
{
    const int64_t channels = tutti_param_i64(params, "num_channels");
    const int64_t groups = tutti_param_i64(params, "num_groups");
    if (channels % groups)
        return tutti_fail(err, TUTTI_E_ARG,
                          "group_norm: num_channels %lld do not divide into %lld groups",
                          (long long)channels, (long long)groups);
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[0] = channels;
    l->i[1] = groups;
    l->f[0] = tutti_param_f64(params, "eps");
    return TUTTI_OK;
}

static tutti_status nn_group_norm_trace(void *self, tutti_graph *g, tutti_module m,
                                        const tutti_value *in, uint32_t nin, tutti_value *out,
                                        uint32_t nout)
{
    const nn_layer *l = self;
    (void)nin, (void)nout;
    const tutti_value all[3] = {in[0], g->weight(g, m, "weight"), g->weight(g, m, "bias")};
    const tutti_attr attr[2] = {tutti_attr_f("eps", l->f[0]), tutti_attr_i("groups", l->i[1])};
    out[0] = g->emit(g, "group_norm", all, 3, attr, 2, NULL, 0);
    return g->status(g);
}
NN_OBJECT(group_norm, nn_group_norm_open, nn_layer_norm_build, nn_group_norm_trace)

/* ---- embedding: weight (entries, width); whole numbers (...) -> (..., width) ---- */

static tutti_status nn_embedding_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[0] = tutti_param_i64(params, "num_embeddings");
    l->i[1] = tutti_param_i64(params, "embedding_dim");
    return TUTTI_OK;
}

static tutti_status nn_embedding_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, l->std, 0.0, NULL};
    return nn_weight(l, m, "weight", l->i, 2, &init, trained, err);
}

static tutti_status nn_embedding_trace(void *self, tutti_graph *g, tutti_module m,
                                       const tutti_value *in, uint32_t nin, tutti_value *out,
                                       uint32_t nout)
{
    (void)self, (void)nin, (void)nout;
    const tutti_value all[2] = {g->weight(g, m, "weight"), in[0]};
    const tutti_attr axis = tutti_attr_i("axis", 0);
    out[0] = g->emit(g, "gather", all, 2, &axis, 1, NULL, 0);
    return g->status(g);
}
NN_OBJECT(embedding, nn_embedding_open, nn_embedding_build, nn_embedding_trace)

/* ---- self_attention, causal_self_attention: c_attn gives q, k and v side by side, c_proj takes what
 * the heads say (Vaswani et al. 2017; Radford et al. 2019) ---- */

enum { ATTENTION_WIDTH, ATTENTION_HEADS, ATTENTION_BIAS, ATTENTION_ALIBI, ATTENTION_CAUSAL };
enum { ATTENTION_DROPOUT, ATTENTION_PROJ_STD };

static tutti_status nn_attention_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "embed_dim");
    const int64_t heads = tutti_param_i64(params, "num_heads");
    if (width % heads)
        return tutti_fail(err, TUTTI_E_ARG,
                          "self-attention: embed_dim %lld does not divide into %lld heads",
                          (long long)width, (long long)heads);
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[ATTENTION_WIDTH] = width;
    l->i[ATTENTION_HEADS] = heads;
    l->i[ATTENTION_BIAS] = tutti_param_i64(params, "bias");
    l->i[ATTENTION_ALIBI] = tutti_param_i64(params, "alibi");
    l->f[ATTENTION_DROPOUT] = tutti_param_f64(params, "dropout");
    l->f[ATTENTION_PROJ_STD] =
        tutti_param_is_set(params, "proj_std") ? tutti_param_f64(params, "proj_std") : l->std;
    return TUTTI_OK;
}

static tutti_status nn_causal_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_attention_open(host, params, ret_self, err);
    if (s == TUTTI_OK)
        ((nn_layer *)*ret_self)->i[ATTENTION_CAUSAL] = 1;
    return s;
}

/* A linear layer whose weight is stored (in, out). */
static tutti_status attention_linear(const nn_layer *l, tutti_module m, const char *name,
                                     int64_t in, int64_t out, double std, tutti_error *err)
{
    const tutti_attr attr[6] = {
        tutti_attr_i("in_features", in),      tutti_attr_i("out_features", out),
        tutti_attr_i("transposed", 1),        tutti_attr_i("bias", l->i[ATTENTION_BIAS]),
        tutti_attr_i("init", NN_INIT_NORMAL), tutti_attr_f("std", std)};
    tutti_module child;
    const tutti_status s = l->modules->create(l->modules->ctx, "linear", attr, 6, &child, err);
    return s ? s : l->modules->add(l->modules->ctx, m, name, child, err);
}

static tutti_status nn_attention_build(void *self, tutti_module m, tutti_error *err)
{
    const nn_layer *l = self;
    const int64_t width = l->i[ATTENTION_WIDTH];
    const tutti_status s = attention_linear(l, m, "c_attn", width, 3 * width, l->std, err);
    return s ? s
             : attention_linear(l, m, "c_proj", width, width, l->f[ATTENTION_PROJ_STD], err);
}

/* Slope of head h of n: 2^(-8 (h + 1) / n) for n a power of two; else those of the next lower power,
 * then every second one of the power above (Press, Smith and Lewis 2022). */
static double alibi_slope(int64_t h, int64_t n)
{
    int64_t power = 1;
    while (2 * power <= n)
        power *= 2;
    if (h < power)
        return exp2(-8.0 * (double)(h + 1) / (double)power);
    return exp2(-4.0 * (double)(2 * (h - power) + 1) / (double)power);
}

/* -slope |i - j| for query i and key j, (H, T, T).  Where queries see no later key, (H, 1, T) of slope
 * (j - (T - 1)) is the same to a softmax, since what all keys of a query share drops out. */
static tutti_value alibi_bias(tutti_graph *g, int64_t heads, int64_t t, int32_t causal)
{
    const int64_t rows = causal ? 1 : t;
    float *data = malloc((size_t)(heads * rows * t) * sizeof *data + 1);
    if (!data) {
        (void)g->fail(g, TUTTI_E_NOMEM, "attention: no memory for its biases");
        return 0;
    }
    for (int64_t k = 0; k < heads * rows * t; k++) {
        const int64_t h = k / t / rows, i = causal ? t - 1 : k / t % rows, j = k % t;
        data[k] = (float)(alibi_slope(h, heads) * -(double)(i > j ? i - j : j - i));
    }
    const tutti_tensor tensor = {data, {{heads, rows, t}, 3, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = g->constant(g, &tensor);
    free(data);
    return v;
}

/* Part k of qkv (B, T, 3, H, D) as (B, T, H, D). */
static tutti_value nn_third(tutti_graph *g, tutti_value qkv, int64_t k)
{
    const tutti_desc d = *g->desc(g, qkv);
    const int64_t begin[5] = {0, 0, k, 0, 0}, step[5] = {1, 1, 1, 1, 1};
    const int64_t end[5] = {d.dim[0], d.dim[1], k + 1, d.dim[3], d.dim[4]};
    const int64_t shape[4] = {d.dim[0], d.dim[1], d.dim[3], d.dim[4]};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 5),
                               tutti_attr_list("end", end, 5),
                               tutti_attr_list("stride", step, 5)};
    return tutti_reshape(g, g->emit(g, "slice", &qkv, 1, cut, 3, NULL, 0), shape, 4);
}

/* The same where a graph goes on with sequences: qkv (B, T, 3, H, D) of the new tokens at `position` and
 * the keys and values of all before them. */
static tutti_value nn_attend_on(const nn_layer *l, tutti_graph *g, tutti_module m,
                                tutti_value qkv, tutti_value position)
{
    const tutti_value k = g->cache(g, m, "k", nn_third(g, qkv, 1));
    const tutti_value v = g->cache(g, m, "v", nn_third(g, qkv, 2));
    const int32_t alibi = l->i[ATTENTION_ALIBI] != 0;
    const tutti_value in[5] = {
        nn_third(g, qkv, 0), k, v, position,
        alibi ? alibi_bias(g, l->i[ATTENTION_HEADS], g->desc(g, k)->dim[1], 1) : 0};
    return g->emit(g, "sdpa_cached", in, alibi ? 5 : 4, NULL, 0, NULL, 0);
}

tutti_value nn_going_on(tutti_graph *g, int32_t causal, int32_t biased)
{
    const tutti_value position = TUTTI_HAS(g, tutti_graph, cache) ? g->position(g, 0) : 0;
    if (position && (!causal || biased))
        (void)g->fail(g, TUTTI_E_UNSUPPORTED,
                      biased
                          ? "attention: what is added to the scores is for whole sequences, "
                            "which cannot go on"
                          : "attention: tokens see later ones, so that sequences cannot go on");
    return position;
}

/* What the heads make of qkv (B, T, 3 C) and the bias, or 0: (B, T, C). */
static tutti_value nn_attend(const nn_layer *l, tutti_graph *g, tutti_module m, tutti_value qkv,
                             tutti_value bias, int64_t width)
{
    const tutti_desc d = *g->desc(g, qkv);
    const int64_t heads = l->i[ATTENTION_HEADS];
    const int64_t packed[5] = {d.dim[0], d.dim[1], 3, heads, width / heads};
    const int64_t flat[3] = {d.dim[0], d.dim[1], width};
    const tutti_value position = nn_going_on(g, l->i[ATTENTION_CAUSAL] != 0, bias != 0);
    if (position) {
        const tutti_value all = tutti_reshape(g, qkv, packed, 5);
        return tutti_reshape(g, nn_attend_on(l, g, m, all, position), flat, 3);
    }
    if (l->i[ATTENTION_ALIBI]) {
        const tutti_value slopes =
            alibi_bias(g, heads, d.dim[1], (int32_t)l->i[ATTENTION_CAUSAL]);
        bias = bias ? tutti_add(g, bias, slopes) : slopes;
    }
    const tutti_value all[2] = {tutti_reshape(g, qkv, packed, 5), bias};
    const tutti_attr attr[3] = {tutti_attr_i("causal", l->i[ATTENTION_CAUSAL]),
                                tutti_attr_f("dropout", l->f[ATTENTION_DROPOUT]),
                                tutti_attr_i("stream", (int64_t)m)};
    const int drops = g->mode == TUTTI_MODE_TRAIN && l->f[ATTENTION_DROPOUT] > 0.0;
    const tutti_value y =
        g->emit(g, "sdpa_packed", all, bias ? 2 : 1, attr, drops ? 3 : 1, NULL, 0);
    return tutti_reshape(g, y, flat, 3);
}

static tutti_value nn_call(const nn_layer *l, tutti_graph *g, tutti_module m, const char *name,
                           tutti_value x)
{
    tutti_value y = 0;
    return g->call(g, l->modules->child(l->modules->ctx, m, name), &x, 1, &y, 1) ? 0 : y;
}

/* in[0] (B, T, C); in[1], where there is one, is added to the scores and broadcasts to (B, H, T, T). */
static tutti_status nn_attention_trace(void *self, tutti_graph *g, tutti_module m,
                                       const tutti_value *in, uint32_t nin, tutti_value *out,
                                       uint32_t nout)
{
    const nn_layer *l = self;
    (void)nout;
    const tutti_desc x = *g->desc(g, in[0]);
    if (x.rank != 3)
        return g->fail(g, TUTTI_E_SHAPE, "self-attention: the input must be (B, T, C)");
    const tutti_value qkv = nn_call(l, g, m, "c_attn", in[0]);
    const tutti_value y = nn_attend(l, g, m, qkv, nin > 1 ? in[1] : 0, l->i[ATTENTION_WIDTH]);
    out[0] = nn_call(l, g, m, "c_proj", y);
    return g->status(g);
}
NN_OBJECT(self_attention, nn_attention_open, nn_attention_build, nn_attention_trace)
NN_OBJECT(causal_self_attention, nn_causal_open, nn_attention_build, nn_attention_trace)

/* ---- attention_heads: self-attention without the products before and after ---- */

static tutti_status nn_heads_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const tutti_status s = nn_open(host, params, ret_self, err);
    if (s)
        return s;
    nn_layer *l = *ret_self;
    l->i[ATTENTION_HEADS] = tutti_param_i64(params, "num_heads");
    l->i[ATTENTION_ALIBI] = tutti_param_i64(params, "alibi");
    l->f[ATTENTION_DROPOUT] = tutti_param_f64(params, "dropout");
    return TUTTI_OK;
}

static tutti_status nn_heads_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* in[0] (B, T, 3 C): q, k and v side by side; in[1] as above. */
static tutti_status nn_heads_trace(void *self, tutti_graph *g, tutti_module m,
                                   const tutti_value *in, uint32_t nin, tutti_value *out,
                                   uint32_t nout)
{
    const nn_layer *l = self;
    const tutti_desc x = *g->desc(g, in[0]);
    (void)nout;
    if (x.rank != 3 || x.dim[2] % (3 * l->i[ATTENTION_HEADS]))
        return g->fail(
            g, TUTTI_E_SHAPE,
            "attention_heads: the input must be (B, T, 3 C), with heads that divide C");
    out[0] = nn_attend(l, g, m, in[0], nin > 1 ? in[1] : 0, x.dim[2] / 3);
    return g->status(g);
}
NN_OBJECT(attention_heads, nn_heads_open, nn_heads_build, nn_heads_trace)
