/* plugin.c - resnet_cifar and its residual_block: He et al. 2015, section 4.2. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"
#include "tutti/layer.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- residual_block: relu(norm2(conv2(relu(norm1(conv1(x))))) + shortcut(x)) ---- */

typedef struct block {
    const tutti_module_v1 *modules;
    int64_t in;
    int64_t out;
    int64_t stride;
    int32_t conv;
    int32_t reserved;
} block;

static tutti_status resnet_cifar_block_open(const tutti_host *host, const tutti_params *params,
                                            void **ret_self, tutti_error *err)
{
    block *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "residual_block: no memory");
    b->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    b->in = tutti_param_i64(params, "in_channels");
    b->out = tutti_param_i64(params, "out_channels");
    b->stride = tutti_param_i64(params, "stride");
    b->conv = strcmp(tutti_param_str(params, "shortcut"), "conv") == 0;
    *ret_self = b;
    return TUTTI_OK;
}

static tutti_status resnet_cifar_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status resnet_cifar_block_build(void *self, tutti_module m, tutti_error *err)
{
    const block *b = self;
    tutti_status s;
    if ((s = model_conv(b->modules, m, "conv1", b->in, b->out, 3, b->stride, err)) ||
        (s = model_norm(b->modules, m, "norm1", b->out, err)) ||
        (s = model_conv(b->modules, m, "conv2", b->out, b->out, 3, 1, err)) ||
        (s = model_norm(b->modules, m, "norm2", b->out, err)))
        return s;
    if (!b->conv || (b->stride == 1 && b->in == b->out))
        return TUTTI_OK;
    if ((s = model_conv(b->modules, m, "shortcut_conv", b->in, b->out, 1, b->stride, err)))
        return s;
    return model_norm(b->modules, m, "shortcut_norm", b->out, err);
}

/* Option A: every stride-th pixel, the channels that are missing filled with zeros on both sides. */
static tutti_value pad_shortcut(const block *b, tutti_graph *g, tutti_value x)
{
    const tutti_desc d = *g->desc(g, x);
    const int64_t zero[4] = {0, 0, 0, 0}, stride[4] = {1, b->stride, b->stride, 1};
    if (b->stride > 1) {
        const tutti_attr cut[3] = {tutti_attr_list("begin", zero, 4),
                                   tutti_attr_list("end", d.dim, 4),
                                   tutti_attr_list("stride", stride, 4)};
        x = g->emit(g, "slice", &x, 1, cut, 3, NULL, 0);
    }
    if (b->out == b->in)
        return x;
    const int64_t before[4] = {0, 0, 0, (b->out - b->in) / 2};
    const int64_t after[4] = {0, 0, 0, b->out - b->in - before[3]};
    const tutti_attr pad[2] = {tutti_attr_list("before", before, 4),
                               tutti_attr_list("after", after, 4)};
    return g->emit(g, "pad", &x, 1, pad, 2, NULL, 0);
}

static tutti_status resnet_cifar_block_trace(void *self, tutti_graph *g, tutti_module m,
                                             const tutti_value *in, uint32_t nin,
                                             tutti_value *out, uint32_t nout)
{
    const block *b = self;
    const tutti_module_v1 *s = b->modules;
    (void)nin, (void)nout;
    tutti_value y = model_call(s, g, m, "conv1", in[0]), short_ = in[0];
    y = tutti_relu(g, model_call(s, g, m, "norm1", y));
    y = model_call(s, g, m, "norm2", model_call(s, g, m, "conv2", y));
    if (s->child(s->ctx, m, "shortcut_conv"))
        short_ =
            model_call(s, g, m, "shortcut_norm", model_call(s, g, m, "shortcut_conv", short_));
    else if (b->stride > 1 || b->in != b->out)
        short_ = pad_shortcut(b, g, short_);
    out[0] = tutti_relu(g, tutti_add(g, y, short_));
    return g->status(g);
}

static const tutti_layer_v1 block_table = {.struct_size = sizeof block_table,
                                           .build = resnet_cifar_block_build,
                                           .trace = resnet_cifar_block_trace};

static const void *resnet_cifar_block_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &block_table : NULL;
}

/* ---- resnet_cifar ---- */

typedef struct resnet {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    int64_t blocks; /* a stage */
    int64_t width;
    int64_t conv; /* shortcuts are convolutions */
} resnet;

static tutti_status resnet_cifar_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const int64_t depth = tutti_param_i64(params, "depth");
    if ((depth - 2) % 6)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "resnet_cifar: depth is %lld, want 6 n + 2, such as 20, 32, 44 or 56",
                          (long long)depth);
    resnet *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "resnet_cifar: no memory");
    r->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    r->blocks = (depth - 2) / 6;
    r->width = tutti_param_i64(params, "width");
    r->head.classes = tutti_param_i64(params, "num_classes");
    r->conv = strcmp(tutti_param_str(params, "shortcut"), "conv") == 0;
    *ret_self = r;
    return TUTTI_OK;
}

static tutti_status add_stage(const resnet *r, tutti_module root, int stage, tutti_error *err)
{
    char name[32];
    tutti_module module;
    (void)snprintf(name, sizeof name, "stage%d", stage + 1);
    tutti_status s = model_add(r->modules, root, name, "sequential", NULL, 0, &module, err);
    const int64_t out = r->width << stage;
    for (int64_t k = 0; s == TUTTI_OK && k < r->blocks; k++) {
        const int first = k == 0 && stage > 0;
        tutti_attr attr[4] = {tutti_attr_i("in_channels", first ? out / 2 : out),
                              tutti_attr_i("out_channels", out),
                              tutti_attr_i("stride", first ? 2 : 1),
                              tutti_attr_i("shortcut", r->conv)};
        (void)snprintf(name, sizeof name, "block%lld", (long long)k);
        s = model_add(r->modules, module, name, "residual_block", attr, 4, NULL, err);
    }
    return s;
}

static tutti_status resnet_cifar_build(void *self, tutti_module root,
                                       const tutti_column *columns, uint32_t ncolumns,
                                       tutti_error *err)
{
    resnet *r = self;
    tutti_desc input = {{0}, 0, 0};
    char text[96];
    tutti_status s =
        classifier_columns("resnet_cifar", columns, ncolumns, &r->head, &input, err);
    if (s)
        return s;
    if (input.rank != 3)
        return tutti_fail(err, TUTTI_E_SHAPE, "resnet_cifar: samples are %s, want (H, W, C)",
                          tutti_desc_text(&input, text, sizeof text));
    if ((s = model_conv(r->modules, root, "conv", input.dim[2], r->width, 3, 1, err)) ||
        (s = model_norm(r->modules, root, "norm", r->width, err)))
        return s;
    for (int stage = 0; stage < 3; stage++)
        if ((s = add_stage(r, root, stage, err)))
            return s;
    return model_linear(r->modules, root, "head", 4 * r->width, r->head.outputs, err);
}

static tutti_status resnet_cifar_trace(void *self, tutti_graph *g, tutti_module root,
                                       const tutti_value *inputs, uint32_t ninputs,
                                       tutti_value *outputs, uint32_t noutputs)
{
    const tutti_module_v1 *s = ((resnet *)self)->modules;
    const int64_t axes[2] = {1, 2};
    (void)ninputs, (void)noutputs;
    tutti_value x = model_call(s, g, root, "conv", inputs[0]);
    x = tutti_relu(g, model_call(s, g, root, "norm", x));
    x = model_call(s, g, root, "stage1", x);
    x = model_call(s, g, root, "stage2", x);
    x = model_call(s, g, root, "stage3", x);
    outputs[0] = model_call(s, g, root, "head", tutti_reduce(g, "mean", x, axes, 2, 0));
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = resnet_cifar_build,
                                     .trace = resnet_cifar_trace,
                                     .loss = classifier_loss};

static const void *resnet_cifar_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls block_calls = {.struct_size = sizeof block_calls,
                                        .open = resnet_cifar_block_open,
                                        .close = resnet_cifar_close,
                                        .query = resnet_cifar_block_query};
static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = resnet_cifar_open,
                                  .close = resnet_cifar_close,
                                  .query = resnet_cifar_query};
static const tutti_object model = TUTTI_OBJECT_INIT("resnet_cifar", TUTTI_KIND_MODEL, &calls);
static const tutti_object layer =
    TUTTI_OBJECT_INIT("residual_block", TUTTI_KIND_LAYER, &block_calls);
static const tutti_object *const objects[] = {&model, &layer, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.resnet_cifar", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
