/* plugin.c - the plugin's table. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

static const tutti_object *const objects[] = {&nn_conv2d,
                                              &nn_linear,
                                              &nn_batch_norm2d,
                                              &nn_relu,
                                              &nn_gelu,
                                              &nn_tanh,
                                              &nn_sigmoid,
                                              &nn_silu,
                                              &nn_max_pool2d,
                                              &nn_avg_pool2d,
                                              &nn_global_avg_pool,
                                              &nn_flatten,
                                              &nn_dropout,
                                              &nn_identity,
                                              &nn_sequential,
                                              &nn_layer_norm,
                                              &nn_group_norm,
                                              &nn_embedding,
                                              &nn_self_attention,
                                              &nn_causal_self_attention,
                                              &nn_attention_heads,
                                              &nn_conv_transpose2d,
                                              &nn_upsample2d,
                                              &nn_rms_norm,
                                              &nn_grouped_query_attention,
                                              NULL};

static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.nn", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
