/* plugin.c - resnet: He et al. 2015, table 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include "../classifier.h"
#include "../model.h"

#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 4 };

typedef struct form {
    int64_t depth;
    const char *block;
    int64_t expansion;
    int64_t blocks[STAGES];
} form;

static const form forms[] = {
    {18, "basic_block", BASIC_EXPANSION, {2, 2, 2, 2}},
    {34, "basic_block", BASIC_EXPANSION, {3, 4, 6, 3}},
    {50, "bottleneck_block", BOTTLENECK_EXPANSION, {3, 4, 6, 3}},
    {101, "bottleneck_block", BOTTLENECK_EXPANSION, {3, 4, 23, 3}},
    {152, "bottleneck_block", BOTTLENECK_EXPANSION, {3, 8, 36, 3}},
};

typedef struct resnet {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    const form *form;
    int64_t width;
    int64_t zero;   /* the last scale of a block starts from 0 */
    int64_t small;  /* the stem keeps the image's size */
    int64_t is_map; /* a class for each pixel */
} resnet;

static tutti_status resnet_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    const int64_t depth = tutti_param_i64(params, "depth");
    const form *f = NULL;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (forms[k].depth == depth)
            f = &forms[k];
    if (!f)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "resnet: depth is %lld, want 18, 34, 50, 101 or 152",
                          (long long)depth);
    resnet *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "resnet: no memory");
    r->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    r->form = f;
    r->width = tutti_param_i64(params, "width");
    r->head.classes = tutti_param_i64(params, "num_classes");
    r->zero = tutti_param_i64(params, "zero_init_residual");
    r->small = strcmp(tutti_param_str(params, "stem"), "cifar") == 0;
    *ret_self = r;
    return TUTTI_OK;
}

static tutti_status resnet_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status add_stem(const resnet *r, tutti_module root, int64_t channels,
                             tutti_error *err)
{
    const tutti_attr pool[3] = {tutti_attr_i("kernel_size", 3), tutti_attr_i("stride", 2),
                                tutti_attr_i("padding", 1)};
    const int64_t kernel = r->small ? 3 : 7, stride = r->small ? 1 : 2;
    tutti_status s =
        model_conv(r->modules, root, "conv1", channels, r->width, kernel, stride, err);
    if (s || (s = model_norm(r->modules, root, "bn1", r->width, err)) || r->small)
        return s;
    return model_add(r->modules, root, "maxpool", "max_pool2d", pool, 3, NULL, err);
}

/* Stage `k` after *channels, which becomes its number of channels. */
static tutti_status add_stage(const resnet *r, tutti_module root, int k, int64_t *channels,
                              tutti_error *err)
{
    char name[32];
    tutti_module stage;
    (void)snprintf(name, sizeof name, "layer%d", k + 1);
    tutti_status s = model_add(r->modules, root, name, "sequential", NULL, 0, &stage, err);
    for (int64_t b = 0; s == TUTTI_OK && b < r->form->blocks[k]; b++) {
        const tutti_attr attr[4] = {tutti_attr_i("in_channels", *channels),
                                    tutti_attr_i("width", r->width << k),
                                    tutti_attr_i("stride", b == 0 && k > 0 ? 2 : 1),
                                    tutti_attr_i("zero_init", r->zero)};
        (void)snprintf(name, sizeof name, "%lld", (long long)b);
        s = model_add(r->modules, stage, name, r->form->block, attr, 4, NULL, err);
        *channels = (r->width << k) * r->form->expansion;
    }
    return s;
}

/* By how much features are smaller than the image. */
static int64_t resnet_shrink(const resnet *r)
{
    return (r->small ? 1 : 4) << (STAGES - 1);
}

static tutti_status resnet_build(void *self, tutti_module root, const tutti_column *columns,
                                 uint32_t ncolumns, tutti_error *err)
{
    resnet *r = self;
    tutti_desc input = {{0}, 0, 0};
    int64_t channels = r->width;
    char text[96];
    tutti_status s = classifier_columns("resnet", columns, ncolumns, &r->head, &input, err);
    if (s)
        return s;
    if (input.rank != 3)
        return tutti_fail(err, TUTTI_E_SHAPE, "resnet: samples are %s, want (H, W, C)",
                          tutti_desc_text(&input, text, sizeof text));
    r->is_map = r->head.axes > 1;
    if ((r->is_map &&
         (s = model_fits_map("resnet", columns, ncolumns, resnet_shrink(r), err))) ||
        (s = add_stem(r, root, input.dim[2], err)))
        return s;
    for (int k = 0; k < STAGES; k++)
        if ((s = add_stage(r, root, k, &channels, err)))
            return s;
    s = model_linear(r->modules, root, "fc", channels, r->head.outputs, err);
    return s || !r->is_map ? s : model_enlarge(r->modules, root, "up", resnet_shrink(r), err);
}

static tutti_status resnet_trace(void *self, tutti_graph *g, tutti_module root,
                                 const tutti_value *inputs, uint32_t ninputs,
                                 tutti_value *outputs, uint32_t noutputs)
{
    static const char *const stages[STAGES] = {"layer1", "layer2", "layer3", "layer4"};
    const resnet *r = self;
    const int64_t axes[2] = {1, 2};
    (void)ninputs, (void)noutputs;
    tutti_value x = model_call(r->modules, g, root, "conv1", inputs[0]);
    x = tutti_relu(g, model_call(r->modules, g, root, "bn1", x));
    if (!r->small)
        x = model_call(r->modules, g, root, "maxpool", x);
    for (int k = 0; k < STAGES; k++)
        x = model_call(r->modules, g, root, stages[k], x);
    if (!r->is_map)
        x = tutti_reduce(g, "mean", x, axes, 2, 0);
    outputs[0] = model_call(r->modules, g, root, "fc", x);
    if (r->is_map)
        outputs[0] = model_call(r->modules, g, root, "up", outputs[0]);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = resnet_build,
                                     .trace = resnet_trace,
                                     .loss = classifier_loss};

static const void *resnet_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = resnet_open,
                                  .close = resnet_close,
                                  .query = resnet_query};
static const tutti_object object = TUTTI_OBJECT_INIT("resnet", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &basic_block, &bottleneck_block, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.resnet", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
