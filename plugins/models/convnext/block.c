/* block.c - convnext_block: Liu et al. 2022, figure 4. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "convnext.h"

#include <stdlib.h>

enum { KERNEL = 7, EXPANSION = 4 };

typedef struct block {
    const tutti_module_v1 *modules;
    int64_t width;
    double scale; /* what the scales start from; 0: there are none */
    double drop;  /* chance of a sample to go without */
} block;

static tutti_status convnext_block_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    block *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "convnext: no memory for a block");
    b->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    b->width = tutti_param_i64(params, "width");
    b->scale = tutti_param_f64(params, "layer_scale_init_value");
    b->drop = tutti_param_f64(params, "drop_path");
    *ret_self = b;
    return TUTTI_OK;
}

static tutti_status convnext_block_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status convnext_block_build(void *self, tutti_module m, tutti_error *err)
{
    const block *b = self;
    const int64_t inner = EXPANSION * b->width;
    const tutti_attr depthwise[5] = {
        tutti_attr_i("in_channels", b->width), tutti_attr_i("out_channels", b->width),
        tutti_attr_i("kernel_size", KERNEL), tutti_attr_i("padding", KERNEL / 2),
        tutti_attr_i("groups", b->width)};
    const tutti_desc channels = {{b->width}, 1, TUTTI_F32};
    const tutti_init start = {TUTTI_INIT_CONSTANT, 0, b->scale, 0.0, 0.0, NULL};
    tutti_status s;
    if ((s = model_add(b->modules, m, "dwconv", "conv2d", depthwise, 5, NULL, err)) ||
        (s = convnext_norm(b->modules, m, "layernorm", b->width, convnext_eps, err)) ||
        (s = convnext_linear(b->modules, m, "pwconv1", b->width, inner, err)) ||
        (s = convnext_linear(b->modules, m, "pwconv2", inner, b->width, err)) ||
        b->scale == 0.0)
        return s;
    return b->modules->weight(b->modules->ctx, m, "layer_scale_parameter", &channels, &start,
                              TUTTI_WEIGHT_TRAINABLE, err);
}

/* y, or 0, for each sample of the batch (Huang et al. 2016); what stays is scaled by 1 / (1 - drop). */
static tutti_value drop_path(const block *b, tutti_graph *g, tutti_module m, tutti_value y)
{
    const int64_t batch = g->desc(g, y)->dim[0];
    float *ones = malloc((size_t)batch * sizeof *ones + 1);
    if (!ones) {
        (void)g->fail(g, TUTTI_E_NOMEM, "convnext: no memory for a mask");
        return 0;
    }
    for (int64_t k = 0; k < batch; k++)
        ones[k] = 1.0f;
    const tutti_tensor t = {ones, {{batch, 1, 1, 1}, 4, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value all = g->constant(g, &t);
    free(ones);
    const tutti_attr attr[2] = {tutti_attr_f("p", b->drop), tutti_attr_i("stream", (int64_t)m)};
    return tutti_mul(g, y, g->emit(g, "dropout", &all, 1, attr, 2, NULL, 0));
}

static tutti_status convnext_block_trace(void *self, tutti_graph *g, tutti_module m,
                                         const tutti_value *in, uint32_t nin, tutti_value *out,
                                         uint32_t nout)
{
    const block *b = self;
    (void)nin, (void)nout;
    tutti_value y = model_call(b->modules, g, m, "dwconv", in[0]);
    y = model_call(b->modules, g, m, "pwconv1", model_call(b->modules, g, m, "layernorm", y));
    y = model_call(b->modules, g, m, "pwconv2", tutti_op1(g, "gelu", y));
    if (b->scale != 0.0)
        y = tutti_mul(g, y, g->weight(g, m, "layer_scale_parameter"));
    if (b->drop > 0.0 && g->mode == TUTTI_MODE_TRAIN)
        y = drop_path(b, g, m, y);
    out[0] = tutti_add(g, in[0], y);
    return g->status(g);
}

static const void *convnext_block_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = convnext_block_build,
                                         .trace = convnext_block_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = convnext_block_open,
                                  .close = convnext_block_close,
                                  .query = convnext_block_query};
const tutti_object convnext_block =
    TUTTI_OBJECT_INIT("convnext_block", TUTTI_KIND_LAYER, &calls);
