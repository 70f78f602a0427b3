/* grouped_query.c - grouped_query_attention: causal, with rotary positions, fewer heads of keys and values than of queries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the enum rope_type. */
enum { ROPE_DEFAULT, ROPE_LINEAR, ROPE_LLAMA3 };

typedef struct grouped_query {
    const tutti_module_v1 *modules;
    int64_t width, heads, kv_heads, depth; /* depth: of a head */
    int64_t bias, out_bias, qk_norm, rope_type;
    double theta, factor, low, high, original; /* the last three of llama3 */
    double eps, std, proj_std;
} grouped_query;

static tutti_status grouped_query_check(const grouped_query *l, tutti_error *err)
{
    if (l->heads % l->kv_heads)
        return tutti_fail(err, TUTTI_E_ARG,
                          "grouped_query_attention: num_heads %lld is no multiple of "
                          "num_key_value_heads %lld",
                          (long long)l->heads, (long long)l->kv_heads);
    if (l->depth == 0 || l->depth % 2)
        return tutti_fail(err, TUTTI_E_ARG,
                          "grouped_query_attention: a head has %lld numbers, want an even "
                          "count; set head_dim",
                          (long long)l->depth);
    if (l->rope_type == ROPE_LLAMA3 && l->low >= l->high)
        return tutti_fail(err, TUTTI_E_ARG,
                          "grouped_query_attention: low_freq_factor %g, want less than "
                          "high_freq_factor %g",
                          l->low, l->high);
    return TUTTI_OK;
}

static void grouped_query_read(grouped_query *l, const tutti_params *params)
{
    l->width = tutti_param_i64(params, "embed_dim");
    l->heads = tutti_param_i64(params, "num_heads");
    l->kv_heads = tutti_param_is_set(params, "num_key_value_heads")
                      ? tutti_param_i64(params, "num_key_value_heads")
                      : l->heads;
    l->depth = tutti_param_is_set(params, "head_dim") ? tutti_param_i64(params, "head_dim")
                                                      : l->width / l->heads;
    l->bias = tutti_param_i64(params, "bias");
    l->out_bias = tutti_param_i64(params, "out_bias");
    l->qk_norm = tutti_param_i64(params, "qk_norm");
    l->rope_type = tutti_param_i64(params, "rope_type");
    l->theta = tutti_param_f64(params, "rope_theta");
    l->factor = tutti_param_f64(params, "rope_factor");
    l->low = tutti_param_f64(params, "low_freq_factor");
    l->high = tutti_param_f64(params, "high_freq_factor");
    l->original = (double)tutti_param_i64(params, "original_max_position_embeddings");
    l->eps = tutti_param_f64(params, "eps");
    l->std = tutti_param_f64(params, "std");
    l->proj_std =
        tutti_param_is_set(params, "proj_std") ? tutti_param_f64(params, "proj_std") : l->std;
}

static tutti_status nn_grouped_query_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    grouped_query *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a layer");
    l->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    grouped_query_read(l, params);
    const tutti_status s = grouped_query_check(l, err);
    if (s) {
        free(l);
        return s;
    }
    *ret_self = l;
    return TUTTI_OK;
}

/* ---- modules: q_proj, k_proj, v_proj, o_proj, and q_norm and k_norm over a head's numbers ---- */

static tutti_status grouped_query_add(const grouped_query *l, tutti_module m, const char *name,
                                      const char *kind, const tutti_attr *attr, uint32_t nattr,
                                      tutti_error *err)
{
    tutti_module child;
    const tutti_status s = l->modules->create(l->modules->ctx, kind, attr, nattr, &child, err);
    return s ? s : l->modules->add(l->modules->ctx, m, name, child, err);
}

static tutti_status grouped_query_linear(const grouped_query *l, tutti_module m,
                                         const char *name, int64_t in, int64_t out,
                                         int64_t bias, double std, tutti_error *err)
{
    const tutti_attr attr[5] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out), tutti_attr_i("bias", bias),
                                tutti_attr_i("init", NN_INIT_NORMAL), tutti_attr_f("std", std)};
    return grouped_query_add(l, m, name, "linear", attr, 5, err);
}

static tutti_status nn_grouped_query_build(void *self, tutti_module m, tutti_error *err)
{
    const grouped_query *l = self;
    const int64_t q = l->heads * l->depth, kv = l->kv_heads * l->depth;
    const tutti_attr norm[2] = {tutti_attr_i("num_features", l->depth),
                                tutti_attr_f("eps", l->eps)};
    tutti_status s;
    if ((s = grouped_query_linear(l, m, "q_proj", l->width, q, l->bias, l->std, err)) ||
        (s = grouped_query_linear(l, m, "k_proj", l->width, kv, l->bias, l->std, err)) ||
        (s = grouped_query_linear(l, m, "v_proj", l->width, kv, l->bias, l->std, err)) ||
        (s = grouped_query_linear(l, m, "o_proj", q, l->width, l->out_bias, l->proj_std, err)))
        return s;
    if (l->qk_norm && !(s = grouped_query_add(l, m, "q_norm", "rms_norm", norm, 2, err)))
        s = grouped_query_add(l, m, "k_norm", "rms_norm", norm, 2, err);
    return s;
}

/* ---- angles ---- */

/* Frequency i of `depth` / 2, scaled.  linear: positions are divided by the factor.  llama3 (Dubey et al. 2024):
 * so are those of waves longer than original / low positions; of those shorter than original / high none; between
 * them it goes over. */
static double rope_frequency(const grouped_query *l, int64_t i)
{
    static const double turn = 6.283185307179586;
    const double f = pow(l->theta, -2.0 * (double)i / (double)l->depth);
    if (l->rope_type == ROPE_DEFAULT)
        return f;
    if (l->rope_type == ROPE_LINEAR)
        return f / l->factor;
    const double turns = l->original * f / turn; /* in the original length */
    const double share = (turns - l->low) / (l->high - l->low);
    const double kept = share < 0.0 ? 0.0 : share > 1.0 ? 1.0 : share;
    return kept * f + (1.0 - kept) * f / l->factor;
}

/* (T, D / 2) of f(position frequency); 0 without memory. */
static tutti_value rope_angles(const grouped_query *l, tutti_graph *g, int64_t t,
                               double (*f)(double))
{
    const int64_t half = l->depth / 2;
    float *data = malloc((size_t)(t * half) * sizeof *data + 1);
    if (!data) {
        (void)g->fail(g, TUTTI_E_NOMEM, "attention: no memory for its angles");
        return 0;
    }
    for (int64_t i = 0; i < half; i++) {
        const double each = rope_frequency(l, i);
        for (int64_t k = 0; k < t; k++)
            data[k * half + i] = (float)f((double)k * each);
    }
    const tutti_tensor tensor = {data, {{t, half}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = g->constant(g, &tensor);
    free(data);
    return v;
}

/* ---- trace ---- */

static tutti_value grouped_query_call(const grouped_query *l, tutti_graph *g, tutti_module m,
                                      const char *name, tutti_value x)
{
    const tutti_module child = l->modules->child(l->modules->ctx, m, name);
    tutti_value y = 0;
    if (!child)
        return x;
    return g->call(g, child, &x, 1, &y, 1) ? 0 : y;
}

/* Product `name` of x (B, T, C) by heads: (B, heads, T, D), normalised by `norm` where there is such a child. */
static tutti_value heads_of(const grouped_query *l, tutti_graph *g, tutti_module m,
                            const char *name, const char *norm, tutti_value x, int64_t heads)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    const tutti_desc d = *g->desc(g, x);
    const int64_t split[4] = {d.dim[0], d.dim[1], heads, l->depth};
    tutti_value y = tutti_reshape(g, grouped_query_call(l, g, m, name, x), split, 4);
    if (norm)
        y = grouped_query_call(l, g, m, norm, y);
    return tutti_permute(g, y, order, 4);
}

/* (B, heads of keys, T, D) to (B, heads of queries, T, D): each again for the queries of its group. */
static tutti_value repeat_heads(const grouped_query *l, tutti_graph *g, tutti_value x,
                                int64_t batch, int64_t t)
{
    const int64_t group = l->heads / l->kv_heads;
    const int64_t one[5] = {batch, l->kv_heads, 1, t, l->depth};
    const int64_t all[5] = {batch, l->kv_heads, group, t, l->depth};
    const int64_t flat[4] = {batch, l->heads, t, l->depth};
    const tutti_attr shape = tutti_attr_list("shape", all, 5);
    if (group == 1)
        return x;
    const tutti_value y = tutti_reshape(g, x, one, 5);
    return tutti_reshape(g, g->emit(g, "broadcast_to", &y, 1, &shape, 1, NULL, 0), flat, 4);
}

/* (T, D / 2): rows of angles where the new tokens stand, out of those of all `n` positions. */
static tutti_value angles_at(const grouped_query *l, tutti_graph *g, tutti_value position,
                             int64_t n, double (*f)(double))
{
    const tutti_value in[2] = {rope_angles(l, g, n, f), position};
    const tutti_attr axis = tutti_attr_i("axis", 0);
    return g->emit(g, "gather", in, 2, &axis, 1, NULL, 0);
}

/* What the heads make of the new tokens x (B, T, C) and of the keys and values of all before them, where a graph goes
 * on with sequences: (B, T, H, D). */
static tutti_value grouped_query_on(const grouped_query *l, tutti_graph *g, tutti_module m,
                                    tutti_value x, tutti_value position)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    const tutti_value v = heads_of(l, g, m, "v_proj", NULL, x, l->kv_heads);
    const tutti_value values = g->cache(g, m, "v", tutti_permute(g, v, order, 4));
    const int64_t n = g->desc(g, values)->dim[1];
    const tutti_value cosine = angles_at(l, g, position, n, cos);
    const tutti_value sine = angles_at(l, g, position, n, sin);
    const tutti_value q[3] = {heads_of(l, g, m, "q_proj", "q_norm", x, l->heads), cosine, sine};
    const tutti_value k[3] = {heads_of(l, g, m, "k_proj", "k_norm", x, l->kv_heads), cosine,
                              sine};
    const tutti_value rotated_q = g->emit(g, "rope", q, 3, NULL, 0, NULL, 0);
    const tutti_value rotated_k = g->emit(g, "rope", k, 3, NULL, 0, NULL, 0);
    const tutti_value keys = g->cache(g, m, "k", tutti_permute(g, rotated_k, order, 4));
    const tutti_value all[4] = {tutti_permute(g, rotated_q, order, 4), keys, values, position};
    return g->emit(g, "sdpa_cached", all, 4, NULL, 0, NULL, 0);
}

/* in[0] (B, T, C); in[1], where there is one, is added to the scores and broadcasts to (B, H, T, T). */
static tutti_status nn_grouped_query_trace(void *self, tutti_graph *g, tutti_module m,
                                           const tutti_value *in, uint32_t nin,
                                           tutti_value *out, uint32_t nout)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    const grouped_query *l = self;
    const tutti_desc x = *g->desc(g, in[0]);
    (void)nout;
    if (x.rank != 3)
        return g->fail(g, TUTTI_E_SHAPE,
                       "grouped_query_attention: the input must be (B, T, C)");
    const int64_t b = x.dim[0], t = x.dim[1], flat[3] = {b, t, l->heads * l->depth};
    const tutti_value position = nn_going_on(g, 1, nin > 1);
    if (position) {
        const tutti_value heads = grouped_query_on(l, g, m, in[0], position);
        out[0] = grouped_query_call(l, g, m, "o_proj", tutti_reshape(g, heads, flat, 3));
        return g->status(g);
    }
    const tutti_value cosine = rope_angles(l, g, t, cos), sine = rope_angles(l, g, t, sin);
    const tutti_value q[3] = {heads_of(l, g, m, "q_proj", "q_norm", in[0], l->heads), cosine,
                              sine};
    const tutti_value k[3] = {heads_of(l, g, m, "k_proj", "k_norm", in[0], l->kv_heads), cosine,
                              sine};
    const tutti_value v = heads_of(l, g, m, "v_proj", NULL, in[0], l->kv_heads);
    const tutti_value rotated_q = g->emit(g, "rope", q, 3, NULL, 0, NULL, 0);
    const tutti_value rotated_k = g->emit(g, "rope", k, 3, NULL, 0, NULL, 0);
    const tutti_value keys = repeat_heads(l, g, rotated_k, b, t);
    const tutti_value values = repeat_heads(l, g, v, b, t);
    const tutti_value all[4] = {rotated_q, keys, values, nin > 1 ? in[1] : 0};
    const tutti_attr causal = tutti_attr_i("causal", 1);
    const tutti_value y = g->emit(g, "sdpa", all, nin > 1 ? 4 : 3, &causal, 1, NULL, 0);
    const tutti_value joined = tutti_reshape(g, tutti_permute(g, y, order, 4), flat, 3);
    out[0] = grouped_query_call(l, g, m, "o_proj", joined);
    return g->status(g);
}
NN_OBJECT(grouped_query_attention, nn_grouped_query_open, nn_grouped_query_build,
          nn_grouped_query_trace)
