/* plugin.c - lenet and mnist_classifier: small convolutional classifiers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"

#include <stdio.h>
#include <stdlib.h>

enum { GRID = 4 }; /* mnist_classifier's last map */

typedef struct lenet {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    char activation[16];
    char pool[16];
    int64_t padding;
} lenet;

static tutti_status lenet_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const char *activation = tutti_param_str(params, "activation");
    const char *pool = tutti_param_str(params, "pool");
    lenet *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "lenet: no memory");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    (void)snprintf(m->activation, sizeof m->activation, "%s", activation ? activation : "relu");
    (void)snprintf(m->pool, sizeof m->pool, "%s_pool2d", pool ? pool : "avg");
    m->padding = tutti_param_i64(params, "padding");
    m->head.classes = tutti_param_i64(params, "num_classes");
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status lenet_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status biased_conv(const lenet *m, tutti_module root, const char *name, int64_t in,
                                int64_t out, int64_t kernel, int64_t padding, tutti_error *err)
{
    const tutti_attr attr[4] = {
        tutti_attr_i("in_channels", in), tutti_attr_i("out_channels", out),
        tutti_attr_i("kernel_size", kernel), tutti_attr_i("padding", padding)};
    return model_add(m->modules, root, name, "conv2d", attr, 4, NULL, err);
}

/* (B, H, W, C) -> (B, C H W): channel by channel, as PyTorch has its images. */
static tutti_value lenet_flatten(tutti_graph *g, tutti_value x)
{
    static const int64_t order[4] = {0, 3, 1, 2};
    const int64_t shape[2] = {g->desc(g, x)->dim[0], -1};
    return tutti_reshape(g, tutti_permute(g, x, order, 4), shape, 2);
}

/* ---- lenet ---- */

/* The side of the last map: both convolutions take 4 pixels, both pools halve. */
static int64_t last_side(const lenet *m, int64_t side)
{
    const int64_t once = (side + 2 * m->padding - 4) / 2;
    return side + 2 * m->padding < 6 || once < 6 ? 0 : (once - 4) / 2;
}

static tutti_status lenet_build(void *self, tutti_module root, const tutti_column *columns,
                                uint32_t ncolumns, tutti_error *err)
{
    static const char *const acts[] = {"act1", "act2", "act3", "act4"};
    lenet *m = self;
    const tutti_module_v1 *modules = m->modules;
    const tutti_attr two = tutti_attr_i("kernel_size", 2);
    tutti_desc input = {{0}, 0, 0};
    char text[96];
    tutti_status s = classifier_columns("lenet", columns, ncolumns, &m->head, &input, err);
    if (s)
        return s;
    const int64_t height = input.rank == 3 ? last_side(m, input.dim[0]) : 0;
    const int64_t width = input.rank == 3 ? last_side(m, input.dim[1]) : 0;
    if (height < 1 || width < 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "lenet: samples are %s, want (H, W, C) with sides of at least %lld",
                          tutti_desc_text(&input, text, sizeof text),
                          (long long)(16 - 2 * m->padding));
    if ((s = biased_conv(m, root, "conv1", input.dim[2], 6, 5, m->padding, err)) ||
        (s = model_add(modules, root, "pool1", m->pool, &two, 1, NULL, err)) ||
        (s = biased_conv(m, root, "conv2", 6, 16, 5, 0, err)) ||
        (s = model_add(modules, root, "pool2", m->pool, &two, 1, NULL, err)) ||
        (s = model_linear(modules, root, "fc1", 16 * height * width, 120, err)) ||
        (s = model_linear(modules, root, "fc2", 120, 84, err)) ||
        (s = model_linear(modules, root, "fc3", 84, m->head.outputs, err)))
        return s;
    for (int k = 0; s == TUTTI_OK && k < 4; k++)
        s = model_add(modules, root, acts[k], m->activation, NULL, 0, NULL, err);
    return s;
}

static tutti_status lenet_trace(void *self, tutti_graph *g, tutti_module root,
                                const tutti_value *inputs, uint32_t ninputs,
                                tutti_value *outputs, uint32_t noutputs)
{
    static const char *const maps[] = {"conv1", "act1", "pool1", "conv2", "act2", "pool2"};
    static const char *const rows[] = {"fc1", "act3", "fc2", "act4", "fc3"};
    const tutti_module_v1 *modules = ((lenet *)self)->modules;
    (void)ninputs, (void)noutputs;
    tutti_value x = inputs[0];
    for (int k = 0; k < 6; k++)
        x = model_call(modules, g, root, maps[k], x);
    x = lenet_flatten(g, x);
    for (int k = 0; k < 5; k++)
        x = model_call(modules, g, root, rows[k], x);
    outputs[0] = x;
    return g->status(g);
}

/* ---- mnist_classifier ---- */

/* Two 3x3 convolutions take 4 pixels of a side; what is left is cut into GRID equal parts. */
static int lenet_divides(int64_t side)
{
    return side >= 4 + GRID && (side - 4) % GRID == 0;
}

static tutti_status lenet_mnist_build(void *self, tutti_module root,
                                      const tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    lenet *m = self;
    tutti_desc input = {{0}, 0, 0};
    char text[96];
    tutti_status s =
        classifier_columns("mnist_classifier", columns, ncolumns, &m->head, &input, err);
    if (s)
        return s;
    if (input.rank != 3 || !lenet_divides(input.dim[0]) || !lenet_divides(input.dim[1]))
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "mnist_classifier: samples are %s, want (H, W, C) with sides that are "
            "multiples of 4, of at least 8",
            tutti_desc_text(&input, text, sizeof text));
    if ((s = biased_conv(m, root, "conv1", input.dim[2], 16, 3, 0, err)) ||
        (s = biased_conv(m, root, "conv2", 16, 32, 3, 0, err)) ||
        (s = model_norm(m->modules, root, "bn", 32, err)) ||
        (s = model_linear(m->modules, root, "fc1", 32 * GRID * GRID, 32, err)))
        return s;
    return model_linear(m->modules, root, "fc2", 32, m->head.outputs, err);
}

static tutti_status lenet_mnist_trace(void *self, tutti_graph *g, tutti_module root,
                                      const tutti_value *inputs, uint32_t ninputs,
                                      tutti_value *outputs, uint32_t noutputs)
{
    const tutti_module_v1 *modules = ((lenet *)self)->modules;
    (void)ninputs, (void)noutputs;
    tutti_value x = tutti_relu(g, model_call(modules, g, root, "conv1", inputs[0]));
    x = model_call(modules, g, root, "conv2", x);
    x = tutti_relu(g, model_call(modules, g, root, "bn", x));
    const tutti_desc *d = g->desc(g, x);
    const int64_t part[2] = {d->dim[1] / GRID, d->dim[2] / GRID};
    const tutti_attr attr[2] = {tutti_attr_list("kernel", part, 2),
                                tutti_attr_list("stride", part, 2)};
    x = lenet_flatten(g, g->emit(g, "avg_pool2d", &x, 1, attr, 2, NULL, 0));
    x = tutti_relu(g, model_call(modules, g, root, "fc1", x));
    outputs[0] = model_call(modules, g, root, "fc2", x);
    return g->status(g);
}

/* ---- the plugin ---- */

static const tutti_model_v1 lenet_table = {.struct_size = sizeof lenet_table,
                                           .noutputs = 1,
                                           .inputs = classifier_inputs,
                                           .targets = classifier_targets,
                                           .build = lenet_build,
                                           .trace = lenet_trace,
                                           .loss = classifier_loss};
static const tutti_model_v1 mnist_table = {.struct_size = sizeof mnist_table,
                                           .noutputs = 1,
                                           .inputs = classifier_inputs,
                                           .targets = classifier_targets,
                                           .build = lenet_mnist_build,
                                           .trace = lenet_mnist_trace,
                                           .loss = classifier_loss};

static const void *lenet_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &lenet_table : NULL;
}

static const void *lenet_mnist_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &mnist_table : NULL;
}

static const tutti_calls lenet_calls = {.struct_size = sizeof lenet_calls,
                                        .open = lenet_open,
                                        .close = lenet_close,
                                        .query = lenet_query};
static const tutti_calls mnist_calls = {.struct_size = sizeof mnist_calls,
                                        .open = lenet_open,
                                        .close = lenet_close,
                                        .query = lenet_mnist_query};
static const tutti_object lenet_object =
    TUTTI_OBJECT_INIT("lenet", TUTTI_KIND_MODEL, &lenet_calls);
static const tutti_object mnist_object =
    TUTTI_OBJECT_INIT("mnist_classifier", TUTTI_KIND_MODEL, &mnist_calls);
static const tutti_object *const objects[] = {&lenet_object, &mnist_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.lenet", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
