/* layers.c - blur_conv2d and blur_max_pool2d: layers that blur before they skip pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "blurpool.h"

#include "tutti/layer.h"
#include "tutti/module.h"
#include "tutti/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct blur_layer {
    const tutti_module_v1 *modules;
    int64_t in;
    int64_t out;
    int64_t kernel;
    int64_t stride;
    int64_t padding;
    int64_t dilation;
    int64_t groups;
    int32_t bias;
    int32_t blur_first;
} blur_layer;

static tutti_status blurpool_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const tutti_module_v1 *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "layers need the host's " TUTTI_MODULE_V1);
    blur_layer *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a layer");
    l->modules = modules;
    l->in = tutti_param_i64(params, "in_channels");
    l->out = tutti_param_i64(params, "out_channels");
    l->kernel = tutti_param_i64(params, "kernel_size");
    l->stride =
        tutti_param_is_set(params, "stride") ? tutti_param_i64(params, "stride") : l->kernel;
    l->padding = tutti_param_i64(params, "padding");
    l->dilation = tutti_param_i64(params, "dilation");
    l->groups = tutti_param_i64(params, "groups");
    l->bias = tutti_param_i64(params, "bias") != 0;
    l->blur_first = tutti_param_i64(params, "blur_first") != 0;
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status blurpool_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* x (B, H, W, C) with each channel convolved by [1 2 1; 2 4 2; 1 2 1] / 16, zeros around it. */
static tutti_value blur(tutti_graph *g, tutti_value x, int64_t step)
{
    static const float row[3] = {0.25f, 0.5f, 0.25f};
    static const int64_t one[2] = {1, 1};
    const int64_t channels = g->desc(g, x)->dim[3], stride[2] = {step, step};
    if (g->status(g))
        return 0;
    float *filter = malloc((size_t)(channels > 0 ? channels : 1) * 9 * sizeof *filter);
    if (!filter) {
        (void)g->fail(g, TUTTI_E_NOMEM, "no memory for a blur filter");
        return 0;
    }
    for (int64_t k = 0; k < 9 * channels; k++)
        filter[k] = row[k % 9 / 3] * row[k % 3];
    const tutti_tensor t = {filter, {{channels, 3, 3, 1}, 4, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value w = g->constant(g, &t);
    free(filter);
    return tutti_conv2d(g, x, w, 0, stride, one, one, channels);
}

/* ---- blur_conv2d: weight (Cout, K, K, Cin / groups), bias (Cout), as conv2d has them ---- */

static tutti_status conv_build(void *self, tutti_module m, tutti_error *err)
{
    const blur_layer *l = self;
    const tutti_module_v1 *s = l->modules;
    const tutti_desc weight = {{l->out, l->kernel, l->kernel, l->in / l->groups}, 4, TUTTI_F32};
    const tutti_desc bias = {{l->out}, 1, TUTTI_F32};
    const double bound = 1.0 / sqrt((double)(l->kernel * l->kernel * (l->in / l->groups)));
    const tutti_init init = {TUTTI_INIT_UNIFORM, 0, -bound, bound, 0.0, NULL};
    const tutti_status status =
        s->weight(s->ctx, m, "weight", &weight, &init, TUTTI_WEIGHT_TRAINABLE, err);
    if (status || !l->bias)
        return status;
    return s->weight(s->ctx, m, "bias", &bias, &init,
                     TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY, err);
}

static tutti_status conv_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    const blur_layer *l = self;
    (void)nin, (void)nout;
    const int64_t step = l->blur_first ? l->stride : 1;
    const int64_t stride[2] = {step, step}, padding[2] = {l->padding, l->padding};
    const int64_t dilation[2] = {l->dilation, l->dilation};
    tutti_value y = l->blur_first ? blur(g, in[0], 1) : in[0];
    y = tutti_conv2d(g, y, g->weight(g, m, "weight"), l->bias ? g->weight(g, m, "bias") : 0,
                     stride, padding, dilation, l->groups);
    out[0] = l->blur_first ? y : blur(g, y, l->stride);
    return g->status(g);
}

/* ---- blur_max_pool2d: the maximum at every pixel, then the blur with the layer's step ---- */

static tutti_status pool_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

static tutti_status pool_trace(void *self, tutti_graph *g, tutti_module m,
                               const tutti_value *in, uint32_t nin, tutti_value *out,
                               uint32_t nout)
{
    const blur_layer *l = self;
    (void)m, (void)nin, (void)nout;
    const int64_t kernel[2] = {l->kernel, l->kernel}, one[2] = {1, 1};
    const int64_t padding[2] = {l->padding, l->padding};
    const tutti_attr attr[3] = {tutti_attr_list("kernel", kernel, 2),
                                tutti_attr_list("stride", one, 2),
                                tutti_attr_list("padding", padding, 2)};
    out[0] = blur(g, g->emit(g, "max_pool2d", in, 1, attr, 3, NULL, 0), l->stride);
    return g->status(g);
}

static const tutti_layer_v1 conv_table = {sizeof conv_table, 0, conv_build, conv_trace};
static const tutti_layer_v1 pool_table = {sizeof pool_table, 0, pool_build, pool_trace};

static const void *conv_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &conv_table : NULL;
}

static const void *pool_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &pool_table : NULL;
}

static const tutti_calls conv_calls = {.struct_size = sizeof conv_calls,
                                       .open = blurpool_open,
                                       .close = blurpool_close,
                                       .query = conv_query};
static const tutti_calls pool_calls = {.struct_size = sizeof pool_calls,
                                       .open = blurpool_open,
                                       .close = blurpool_close,
                                       .query = pool_query};
const tutti_object blur_conv2d_object =
    TUTTI_OBJECT_INIT("blur_conv2d", TUTTI_KIND_LAYER, &conv_calls);
const tutti_object blur_max_pool2d_object =
    TUTTI_OBJECT_INIT("blur_max_pool2d", TUTTI_KIND_LAYER, &pool_calls);
