/* plugin.c - airbench: Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU" (2024). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"
#include "views.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 3, WINDOW = 2, LAST_POOL = 3 };
enum { INIT_DIRAC = 2 }; /* of conv2d */

typedef struct airbench {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    double scale; /* of the outputs */
    int64_t views;
    int64_t widths[BLOCKS];
} airbench;

static tutti_status airbench_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const tutti_param *widths = tutti_param_find(params, "widths");
    airbench *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "airbench: no memory");
    a->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    a->head.classes = tutti_param_i64(params, "num_classes");
    a->scale = tutti_param_f64(params, "output_scale");
    a->views = tutti_param_i64(params, "views");
    for (int k = 0; k < BLOCKS; k++)
        a->widths[k] = widths->items[k]->i;
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status airbench_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* A convolution that begins as the identity. */
static tutti_status airbench_conv(const airbench *a, tutti_module parent, const char *name,
                                  int64_t in, int64_t out, int64_t kernel, int bias,
                                  tutti_error *err)
{
    const tutti_attr attr[6] = {
        tutti_attr_i("in_channels", in),     tutti_attr_i("out_channels", out),
        tutti_attr_i("kernel_size", kernel), tutti_attr_i("padding", (kernel - 1) / 2),
        tutti_attr_i("bias", bias),          tutti_attr_i("init", INIT_DIRAC)};
    return model_add(a->modules, parent, name, "conv2d", attr, 6, NULL, err);
}

/* A norm whose statistics are nearly those of the latest batches. */
static tutti_status airbench_norm(const airbench *a, tutti_module parent, const char *name,
                                  int64_t channels, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("num_features", channels),
                                tutti_attr_f("eps", 1e-12), tutti_attr_f("momentum", 0.4)};
    return model_add(a->modules, parent, name, "batch_norm2d", attr, 3, NULL, err);
}

static tutti_status airbench_plain(const airbench *a, tutti_module parent, const char *name,
                                   const char *kind, int64_t kernel, tutti_error *err)
{
    const tutti_attr attr = tutti_attr_i("kernel_size", kernel);
    return model_add(a->modules, parent, name, kind, &attr, kernel ? 1 : 0, NULL, err);
}

static tutti_status airbench_block(const airbench *a, tutti_module body, int k, int64_t in,
                                   tutti_error *err)
{
    char name[16];
    tutti_module block;
    const int64_t out = a->widths[k];
    (void)snprintf(name, sizeof name, "block%d", k + 1);
    tutti_status s = model_add(a->modules, body, name, "sequential", NULL, 0, &block, err);
    if (s || (s = airbench_conv(a, block, "conv1", in, out, 3, 0, err)) ||
        (s = airbench_plain(a, block, "pool", "max_pool2d", 2, err)) ||
        (s = airbench_norm(a, block, "norm1", out, err)) ||
        (s = airbench_plain(a, block, "act1", "gelu", 0, err)) ||
        (s = airbench_conv(a, block, "conv2", out, out, 3, 0, err)) ||
        (s = airbench_norm(a, block, "norm2", out, err)))
        return s;
    return airbench_plain(a, block, "act2", "gelu", 0, err);
}

/* What whitening, three halvings and the last pool leave of a side. */
static int64_t airbench_side(int64_t side)
{
    return ((side - (WINDOW - 1)) >> BLOCKS) / LAST_POOL;
}

static tutti_status airbench_head(const airbench *a, tutti_module body, int64_t features,
                                  tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("in_features", features),
                                tutti_attr_i("out_features", a->head.outputs),
                                tutti_attr_i("bias", 0)};
    tutti_status s;
    if ((s = airbench_plain(a, body, "pool", "max_pool2d", LAST_POOL, err)) ||
        (s = airbench_plain(a, body, "flatten", "flatten", 0, err)))
        return s;
    return model_add(a->modules, body, "head", "linear", attr, 3, NULL, err);
}

static tutti_status airbench_build(void *self, tutti_module root, const tutti_column *columns,
                                   uint32_t ncolumns, tutti_error *err)
{
    airbench *a = self;
    tutti_desc input = {{0}, 0, 0};
    tutti_module body;
    char text[96];
    tutti_status s = classifier_columns("airbench", columns, ncolumns, &a->head, &input, err);
    if (s)
        return s;
    const int64_t high = input.rank == 3 ? airbench_side(input.dim[0]) : 0;
    const int64_t wide = input.rank == 3 ? airbench_side(input.dim[1]) : 0;
    if (high < 1 || wide < 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "airbench: samples are %s, want (H, W, C) of at least 25 x 25",
                          tutti_desc_text(&input, text, sizeof text));
    int64_t width =
        2 * WINDOW * WINDOW * input.dim[2]; /* each direction of a window, and its opposite */
    if ((s = model_add(a->modules, root, "body", "sequential", NULL, 0, &body, err)) ||
        (s = airbench_conv(a, body, "whitening", input.dim[2], width, WINDOW, 1, err)) ||
        (s = airbench_plain(a, body, "act", "gelu", 0, err)))
        return s;
    for (int k = 0; k < BLOCKS; width = a->widths[k++])
        if ((s = airbench_block(a, body, k, width, err)))
            return s;
    return airbench_head(a, body, width * high * wide, err);
}

static tutti_status airbench_trace(void *self, tutti_graph *g, tutti_module root,
                                   const tutti_value *inputs, uint32_t ninputs,
                                   tutti_value *outputs, uint32_t noutputs)
{
    const airbench *a = self;
    const int many = g->mode == TUTTI_MODE_EVAL && a->views != VIEWS_ONE;
    (void)ninputs, (void)noutputs;
    const tutti_value x = many ? views_make(g, a->views, inputs[0]) : inputs[0];
    const tutti_value y = model_call(a->modules, g, root, "body", x);
    outputs[0] = tutti_affine(g, many ? views_mean(g, a->views, y) : y, a->scale, 0.0);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = airbench_build,
                                     .trace = airbench_trace,
                                     .loss = classifier_loss};

static const void *airbench_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.airbench", "1.0.0", "airbench", TUTTI_KIND_MODEL,
                    .open = airbench_open, .close = airbench_close, .query = airbench_query);
