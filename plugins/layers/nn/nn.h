/* nn.h - what the standard layers share: instances that keep their settings and services. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_NN_H
#define PLUGIN_NN_H

/* Attention goes on with sequences where the host can; an older one does without. */
#define TUTTI_USE_MINOR 1
#define TUTTI_MIN_MINOR 0
#include "tutti/layer.h"
#include "tutti/module.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

enum { NN_MAX = 8 };

/* One module of the tree; each kind reads its own settings into these. */
typedef struct nn_layer {
    const tutti_module_v1 *modules;
    int64_t i[NN_MAX];
    double f[2];
    double std; /* of INIT_NORMAL */
    const char *text;
    uint64_t seed; /* the run's; of conv2d alone */
} nn_layer;

/* Place of "normal" in the enum `init` of linear. */
enum { NN_INIT_NORMAL = 2 };

/* Keeps the module service; the kinds' own open functions call it first. */
tutti_status nn_open(const tutti_host *host, const tutti_params *params, void **ret_self,
                     tutti_error *err);
tutti_status nn_close(void *self, tutti_error *err);
/* A weight `name` of the given shape. */
tutti_status nn_weight(const nn_layer *l, tutti_module m, const char *name, const int64_t *dim,
                       int32_t rank, const tutti_init *init, uint32_t flags, tutti_error *err);
/* PyTorch's default for a weight and a bias: uniform in +-1 / sqrt(fan), or He et al. 2015 by fan-out
 * when `init` is "kaiming_normal", or normal with the standard deviation `std` when it is "normal". */
tutti_init nn_init(const nn_layer *l, double fan_in, double fan_out);
tutti_init nn_constant(double value);
/* Where the new tokens stand, if the graph goes on with sequences; else 0.  Attention that lets tokens see later ones, and
 * one with biases of the caller's, cannot: the graph fails. */
tutti_value nn_going_on(tutti_graph *g, int32_t causal, int32_t biased);

extern const tutti_object nn_conv2d, nn_linear, nn_batch_norm2d, nn_relu, nn_gelu, nn_tanh,
    nn_sigmoid, nn_silu, nn_max_pool2d, nn_avg_pool2d, nn_global_avg_pool, nn_flatten,
    nn_dropout, nn_identity, nn_sequential, nn_layer_norm, nn_group_norm, nn_embedding,
    nn_self_attention, nn_causal_self_attention, nn_attention_heads, nn_conv_transpose2d,
    nn_upsample2d, nn_rms_norm, nn_grouped_query_attention;

/* Defines the object of a kind out of its open, build and trace. */
#define NN_OBJECT(name_, open_, build_, trace_)                                                \
    static const tutti_layer_v1 name_##_table = {                                              \
        .struct_size = sizeof name_##_table, .build = build_, .trace = trace_};                \
    static const void *nn_##name_##_query(void *self, const char *id)                          \
    {                                                                                          \
        (void)self;                                                                            \
        return strcmp(id, TUTTI_LAYER_V1) == 0 ? &name_##_table : NULL;                        \
    }                                                                                          \
    static const tutti_calls name_##_calls = {.struct_size = sizeof name_##_calls,             \
                                              .open = open_,                                   \
                                              .close = nn_close,                               \
                                              .query = nn_##name_##_query};                    \
    const tutti_object nn_##name_ = TUTTI_OBJECT_INIT(#name_, TUTTI_KIND_LAYER, &name_##_calls);

#endif
