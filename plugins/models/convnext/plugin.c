/* plugin.c - convnext: a patch embedding, four stages of blocks, a mean, a norm and a head. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "convnext.h"

#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 4, HALVINGS = STAGES - 1 };

typedef struct convnext {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    int64_t patch;
    int64_t depth[STAGES];
    int64_t width[STAGES];
    double scale;
    double drop; /* of the last block */
    double eps;  /* of the last norm */
} convnext;

static tutti_status convnext_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    convnext *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "convnext: no memory");
    const tutti_param *depths = tutti_param_find(params, "depths");
    const tutti_param *widths = tutti_param_find(params, "hidden_sizes");
    for (int k = 0; k < STAGES; k++) {
        c->depth[k] = depths->items[k]->i;
        c->width[k] = widths->items[k]->i;
    }
    c->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    c->patch = tutti_param_i64(params, "patch_size");
    c->scale = tutti_param_f64(params, "layer_scale_init_value");
    c->drop = tutti_param_f64(params, "drop_path_rate");
    c->eps = tutti_param_f64(params, "layer_norm_eps");
    c->head.classes = tutti_param_i64(params, "num_classes");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status convnext_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* A convolution whose step is its kernel's side. */
static tutti_status add_cut(const convnext *c, tutti_module parent, const char *name,
                            int64_t in, int64_t out, int64_t side, tutti_error *err)
{
    const tutti_attr attr[4] = {
        tutti_attr_i("in_channels", in), tutti_attr_i("out_channels", out),
        tutti_attr_i("kernel_size", side), tutti_attr_i("stride", side)};
    return model_add(c->modules, parent, name, "conv2d", attr, 4, NULL, err);
}

static tutti_status add_embeddings(const convnext *c, tutti_module body, int64_t channels,
                                   tutti_error *err)
{
    tutti_module m;
    tutti_status s;
    if ((s = model_add(c->modules, body, "embeddings", "sequential", NULL, 0, &m, err)) ||
        (s = add_cut(c, m, "patch_embeddings", channels, c->width[0], c->patch, err)))
        return s;
    return convnext_norm(c->modules, m, "layernorm", c->width[0], convnext_eps, err);
}

/* Halves the image's sides; not before the first stage. */
static tutti_status add_downsampling(const convnext *c, tutti_module stage, int k,
                                     tutti_error *err)
{
    tutti_module m;
    tutti_status s;
    if (k == 0)
        return TUTTI_OK;
    if ((s = model_add(c->modules, stage, "downsampling_layer", "sequential", NULL, 0, &m,
                       err)) ||
        (s = convnext_norm(c->modules, m, "0", c->width[k - 1], convnext_eps, err)))
        return s;
    return add_cut(c, m, "1", c->width[k - 1], c->width[k], 2, err);
}

/* Stage `k`, behind *blocks of `all`, which then counts its own too. */
static tutti_status add_stage(const convnext *c, tutti_module stages, int k, int64_t all,
                              int64_t *blocks, tutti_error *err)
{
    char name[32];
    tutti_module stage, layers;
    tutti_status s;
    (void)snprintf(name, sizeof name, "%d", k);
    if ((s = model_add(c->modules, stages, name, "sequential", NULL, 0, &stage, err)) ||
        (s = add_downsampling(c, stage, k, err)) ||
        (s = model_add(c->modules, stage, "layers", "sequential", NULL, 0, &layers, err)))
        return s;
    for (int64_t b = 0; b < c->depth[k] && !s; b++, ++*blocks) {
        const double share = all > 1 ? (double)*blocks / (double)(all - 1) : 0.0;
        const tutti_attr attr[3] = {tutti_attr_i("width", c->width[k]),
                                    tutti_attr_f("layer_scale_init_value", c->scale),
                                    tutti_attr_f("drop_path", c->drop * share)};
        (void)snprintf(name, sizeof name, "%lld", (long long)b);
        s = model_add(c->modules, layers, name, "convnext_block", attr, 3, NULL, err);
    }
    return s;
}

static tutti_status add_encoder(const convnext *c, tutti_module body, tutti_error *err)
{
    tutti_module encoder, stages;
    int64_t all = 0, blocks = 0;
    tutti_status s;
    if ((s = model_add(c->modules, body, "encoder", "sequential", NULL, 0, &encoder, err)) ||
        (s = model_add(c->modules, encoder, "stages", "sequential", NULL, 0, &stages, err)))
        return s;
    for (int k = 0; k < STAGES; k++)
        all += c->depth[k];
    for (int k = 0; k < STAGES && !s; k++)
        s = add_stage(c, stages, k, all, &blocks, err);
    return s;
}

static tutti_status convnext_build(void *self, tutti_module root, const tutti_column *columns,
                                   uint32_t ncolumns, tutti_error *err)
{
    convnext *c = self;
    tutti_desc input = {{0}, 0, 0};
    tutti_module body;
    char text[96];
    const int64_t least = c->patch << HALVINGS;
    tutti_status s = classifier_columns("convnext", columns, ncolumns, &c->head, &input, err);
    if (s)
        return s;
    if (input.rank != 3 || input.dim[0] < least || input.dim[1] < least)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "convnext: samples are %s, want (H, W, C) with sides of at least 8 "
                          "times patch_size, %lld",
                          tutti_desc_text(&input, text, sizeof text), (long long)least);
    if ((s = model_add(c->modules, root, "convnext", "sequential", NULL, 0, &body, err)) ||
        (s = add_embeddings(c, body, input.dim[2], err)) || (s = add_encoder(c, body, err)) ||
        (s = convnext_norm(c->modules, body, "layernorm", c->width[STAGES - 1], c->eps, err)))
        return s;
    return convnext_linear(c->modules, root, "classifier", c->width[STAGES - 1],
                           c->head.outputs, err);
}

static tutti_status convnext_trace(void *self, tutti_graph *g, tutti_module root,
                                   const tutti_value *inputs, uint32_t ninputs,
                                   tutti_value *outputs, uint32_t noutputs)
{
    const tutti_module_v1 *m = ((convnext *)self)->modules;
    const tutti_module body = m->child(m->ctx, root, "convnext");
    const int64_t pixels[2] = {1, 2};
    (void)ninputs, (void)noutputs;
    tutti_value x = model_call(m, g, body, "embeddings", inputs[0]);
    x = tutti_reduce(g, "mean", model_call(m, g, body, "encoder", x), pixels, 2, 0);
    outputs[0] = model_call(m, g, root, "classifier", model_call(m, g, body, "layernorm", x));
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = convnext_build,
                                     .trace = convnext_trace,
                                     .loss = classifier_loss};

static const void *convnext_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = convnext_open,
                                  .close = convnext_close,
                                  .query = convnext_query};
static const tutti_object object = TUTTI_OBJECT_INIT("convnext", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &convnext_block, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.convnext", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
