/* block.c - basic_block and bottleneck_block: He et al. 2015, figure 5. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include "../model.h"

#include "tutti/layer.h"

#include <stdlib.h>

/* relu(f(x) + shortcut(x)), where f is convolutions with batch norm, and relu between them. */
typedef struct block {
    const tutti_module_v1 *modules;
    int64_t in;
    int64_t width;
    int64_t stride;
    int64_t zero; /* the last scale starts from 0 */
} block;

static tutti_status resnet_block_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    block *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "resnet: no memory for a block");
    b->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    b->in = tutti_param_i64(params, "in_channels");
    b->width = tutti_param_i64(params, "width");
    b->stride = tutti_param_i64(params, "stride");
    b->zero = tutti_param_i64(params, "zero_init");
    *ret_self = b;
    return TUTTI_OK;
}

static tutti_status resnet_block_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status last_norm(const block *b, tutti_module m, const char *name,
                              int64_t channels, tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("num_features", channels),
                                tutti_attr_i("init", b->zero)};
    return model_add(b->modules, m, name, "batch_norm2d", attr, 2, NULL, err);
}

/* A 1x1 convolution where the shape changes; the identity otherwise. */
static tutti_status add_shortcut(const block *b, tutti_module m, int64_t out, tutti_error *err)
{
    tutti_module downsample;
    tutti_status s;
    if (b->stride == 1 && b->in == out)
        return TUTTI_OK;
    if ((s = model_add(b->modules, m, "downsample", "sequential", NULL, 0, &downsample, err)) ||
        (s = model_conv(b->modules, downsample, "0", b->in, out, 1, b->stride, err)))
        return s;
    return model_norm(b->modules, downsample, "1", out, err);
}

/* Calls conv1, bn1, relu, conv2, bn2 ... of the `n` pairs and adds the shortcut. */
static tutti_status trace_pairs(const block *b, tutti_graph *g, tutti_module m, tutti_value x,
                                int n, tutti_value *out)
{
    static const char *const conv[] = {"conv1", "conv2", "conv3"};
    static const char *const norm[] = {"bn1", "bn2", "bn3"};
    const tutti_module_v1 *s = b->modules;
    tutti_value y = x;
    for (int k = 0; k < n; k++) {
        y = model_call(s, g, m, norm[k], model_call(s, g, m, conv[k], y));
        if (k + 1 < n)
            y = tutti_relu(g, y);
    }
    if (s->child(s->ctx, m, "downsample"))
        x = model_call(s, g, m, "downsample", x);
    out[0] = tutti_relu(g, tutti_add(g, y, x));
    return g->status(g);
}

/* ---- basic_block ---- */

static tutti_status resnet_basic_build(void *self, tutti_module m, tutti_error *err)
{
    const block *b = self;
    const int64_t out = b->width * BASIC_EXPANSION;
    tutti_status s;
    if ((s = model_conv(b->modules, m, "conv1", b->in, b->width, 3, b->stride, err)) ||
        (s = model_norm(b->modules, m, "bn1", b->width, err)) ||
        (s = model_conv(b->modules, m, "conv2", b->width, out, 3, 1, err)) ||
        (s = last_norm(b, m, "bn2", out, err)))
        return s;
    return add_shortcut(b, m, out, err);
}

static tutti_status resnet_basic_trace(void *self, tutti_graph *g, tutti_module m,
                                       const tutti_value *in, uint32_t nin, tutti_value *out,
                                       uint32_t nout)
{
    (void)nin, (void)nout;
    return trace_pairs(self, g, m, in[0], 2, out);
}

static const void *resnet_basic_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = resnet_basic_build, .trace = resnet_basic_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

/* ---- bottleneck_block ---- */

static tutti_status resnet_bottleneck_build(void *self, tutti_module m, tutti_error *err)
{
    const block *b = self;
    const int64_t out = b->width * BOTTLENECK_EXPANSION;
    tutti_status s;
    if ((s = model_conv(b->modules, m, "conv1", b->in, b->width, 1, 1, err)) ||
        (s = model_norm(b->modules, m, "bn1", b->width, err)) ||
        (s = model_conv(b->modules, m, "conv2", b->width, b->width, 3, b->stride, err)) ||
        (s = model_norm(b->modules, m, "bn2", b->width, err)) ||
        (s = model_conv(b->modules, m, "conv3", b->width, out, 1, 1, err)) ||
        (s = last_norm(b, m, "bn3", out, err)))
        return s;
    return add_shortcut(b, m, out, err);
}

static tutti_status resnet_bottleneck_trace(void *self, tutti_graph *g, tutti_module m,
                                            const tutti_value *in, uint32_t nin,
                                            tutti_value *out, uint32_t nout)
{
    (void)nin, (void)nout;
    return trace_pairs(self, g, m, in[0], 3, out);
}

static const void *resnet_bottleneck_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = resnet_bottleneck_build,
                                         .trace = resnet_bottleneck_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls basic_calls = {.struct_size = sizeof basic_calls,
                                        .open = resnet_block_open,
                                        .close = resnet_block_close,
                                        .query = resnet_basic_query};
static const tutti_calls bottleneck_calls = {.struct_size = sizeof bottleneck_calls,
                                             .open = resnet_block_open,
                                             .close = resnet_block_close,
                                             .query = resnet_bottleneck_query};
const tutti_object basic_block =
    TUTTI_OBJECT_INIT("basic_block", TUTTI_KIND_LAYER, &basic_calls);
const tutti_object bottleneck_block =
    TUTTI_OBJECT_INIT("bottleneck_block", TUTTI_KIND_LAYER, &bottleneck_calls);
