/* plugin.c - vit: patches, a class token, an encoder, a head. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "vit.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct vit {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    int64_t patch;
    int64_t layers;
    int64_t heads;
    int64_t width;
    int64_t inner;
    int64_t side[2]; /* of the images; known after build */
    double dropout;
    double eps; /* of the norms */
} vit;

static tutti_status vit_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "hidden_dim");
    const int64_t heads = tutti_param_i64(params, "num_heads");
    if (width % heads)
        return tutti_fail(err, TUTTI_E_ARG,
                          "vit: hidden_dim %lld does not divide into %lld heads",
                          (long long)width, (long long)heads);
    vit *v = calloc(1, sizeof *v);
    if (!v)
        return tutti_fail(err, TUTTI_E_NOMEM, "vit: no memory");
    v->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    v->patch = tutti_param_i64(params, "patch_size");
    v->layers = tutti_param_i64(params, "num_layers");
    v->heads = heads;
    v->width = width;
    v->inner =
        tutti_param_is_set(params, "mlp_dim") ? tutti_param_i64(params, "mlp_dim") : 4 * width;
    v->head.classes = tutti_param_i64(params, "num_classes");
    v->dropout = tutti_param_f64(params, "dropout");
    v->eps = tutti_param_f64(params, "layer_norm_eps");
    *ret_self = v;
    return TUTTI_OK;
}

static tutti_status vit_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int is_cut(const vit *v, const tutti_desc *d)
{
    return d->rank == 3 && d->dim[0] >= v->patch && d->dim[1] >= v->patch &&
           d->dim[0] % v->patch == 0 && d->dim[1] % v->patch == 0;
}

static tutti_status add_patches(const vit *v, tutti_module root, int64_t channels,
                                tutti_error *err)
{
    const tutti_desc token = {{1, 1, v->width}, 3, TUTTI_F32};
    const tutti_init zero = {TUTTI_INIT_CONSTANT, 0, 0.0, 0.0, 0.0, NULL};
    const tutti_attr attr[4] = {
        tutti_attr_i("in_channels", channels), tutti_attr_i("out_channels", v->width),
        tutti_attr_i("kernel_size", v->patch), tutti_attr_i("stride", v->patch)};
    const tutti_status s = v->modules->weight(v->modules->ctx, root, "class_token", &token,
                                              &zero, TUTTI_WEIGHT_TRAINABLE, err);
    return s ? s : model_add(v->modules, root, "conv_proj", "conv2d", attr, 4, NULL, err);
}

/* The head starts from zero: all classes alike. */
static tutti_status add_head(const vit *v, tutti_module root, int64_t classes, tutti_error *err)
{
    const tutti_attr attr[4] = {tutti_attr_i("in_features", v->width),
                                tutti_attr_i("out_features", classes),
                                tutti_attr_i("init", LINEAR_NORMAL), tutti_attr_f("std", 0.0)};
    tutti_module heads;
    const tutti_status s =
        model_add(v->modules, root, "heads", "sequential", NULL, 0, &heads, err);
    return s ? s : model_add(v->modules, heads, "head", "linear", attr, 4, NULL, err);
}

static tutti_status vit_build(void *self, tutti_module root, const tutti_column *columns,
                              uint32_t ncolumns, tutti_error *err)
{
    vit *v = self;
    tutti_desc input = {{0}, 0, 0};
    char text[96];
    tutti_status s = classifier_columns("vit", columns, ncolumns, &v->head, &input, err);
    if (s)
        return s;
    if (!is_cut(v, &input))
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "vit: samples are %s, want (H, W, C) with sides that are multiples of "
            "patch_size %lld",
            tutti_desc_text(&input, text, sizeof text), (long long)v->patch);
    memcpy(v->side, input.dim, sizeof v->side);
    const int64_t patches = v->side[0] / v->patch * (v->side[1] / v->patch);
    const tutti_attr attr[7] = {
        tutti_attr_i("tokens", patches + 1),   tutti_attr_i("hidden_dim", v->width),
        tutti_attr_i("num_layers", v->layers), tutti_attr_i("num_heads", v->heads),
        tutti_attr_i("mlp_dim", v->inner),     tutti_attr_f("dropout", v->dropout),
        tutti_attr_f("layer_norm_eps", v->eps)};
    if ((s = add_patches(v, root, input.dim[2], err)) ||
        (s = model_add(v->modules, root, "encoder", "vit_encoder", attr, 7, NULL, err)))
        return s;
    if ((s = add_head(v, root, v->head.outputs, err)) || v->head.axes < 2)
        return s;
    s = model_fits_map("vit", columns, ncolumns, v->patch, err);
    return s ? s : model_enlarge(v->modules, root, "up", v->patch, err);
}

/* The class token before the patches: (B, T, C). */
static tutti_value with_token(const vit *v, tutti_graph *g, tutti_module root, tutti_value x)
{
    const int64_t batch = g->desc(g, x)->dim[0];
    const int64_t shape[3] = {batch, 1, v->width};
    const tutti_attr to = tutti_attr_list("shape", shape, 3), axis = tutti_attr_i("axis", 1);
    const tutti_value token = g->weight(g, root, "class_token");
    const tutti_value all[2] = {g->emit(g, "broadcast_to", &token, 1, &to, 1, NULL, 0), x};
    return g->emit(g, "concat", all, 2, &axis, 1, NULL, 0);
}

/* Tokens [from, to) of (B, T, C). */
static tutti_value some_tokens(const vit *v, tutti_graph *g, tutti_value x, int64_t from,
                               int64_t to)
{
    const int64_t batch = g->desc(g, x)->dim[0];
    const int64_t begin[3] = {0, from, 0}, end[3] = {batch, to, v->width}, step[3] = {1, 1, 1};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 3),
                               tutti_attr_list("end", end, 3),
                               tutti_attr_list("stride", step, 3)};
    return g->emit(g, "slice", &x, 1, cut, 3, NULL, 0);
}

/* The classes of what the encoder makes of the class token: (B, N). */
static tutti_value class_of_image(const vit *v, tutti_graph *g, tutti_module root,
                                  tutti_value x)
{
    const int64_t flat[2] = {g->desc(g, x)->dim[0], v->width};
    x = tutti_reshape(g, some_tokens(v, g, x, 0, 1), flat, 2);
    return model_call(v->modules, g, root, "heads", x);
}

/* Those of the patches, enlarged to pixels: (B, H, W, N). */
static tutti_value classes_of_pixels(const vit *v, tutti_graph *g, tutti_module root,
                                     tutti_value x)
{
    const int64_t image[4] = {g->desc(g, x)->dim[0], v->side[0] / v->patch,
                              v->side[1] / v->patch, v->head.outputs};
    x = some_tokens(v, g, x, 1, 1 + image[1] * image[2]);
    x = tutti_reshape(g, model_call(v->modules, g, root, "heads", x), image, 4);
    return model_call(v->modules, g, root, "up", x);
}

static tutti_status vit_trace(void *self, tutti_graph *g, tutti_module root,
                              const tutti_value *inputs, uint32_t ninputs, tutti_value *outputs,
                              uint32_t noutputs)
{
    const vit *v = self;
    const tutti_desc in = *g->desc(g, inputs[0]);
    const int64_t rows[3] = {in.dim[0], -1, v->width};
    char text[128];
    (void)ninputs, (void)noutputs;
    (void)snprintf(text, sizeof text,
                   "vit: images are %lld x %lld, positions are for %lld x %lld",
                   (long long)in.dim[1], (long long)in.dim[2], (long long)v->side[0],
                   (long long)v->side[1]);
    if (in.dim[1] != v->side[0] || in.dim[2] != v->side[1])
        return g->fail(g, TUTTI_E_SHAPE, text);
    tutti_value x = model_call(v->modules, g, root, "conv_proj", inputs[0]);
    x = with_token(v, g, root, tutti_reshape(g, x, rows, 3));
    x = model_call(v->modules, g, root, "encoder", x);
    outputs[0] =
        v->head.axes < 2 ? class_of_image(v, g, root, x) : classes_of_pixels(v, g, root, x);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = vit_build,
                                     .trace = vit_trace,
                                     .loss = classifier_loss};

static const void *vit_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = vit_open, .close = vit_close, .query = vit_query};
static const tutti_object object = TUTTI_OBJECT_INIT("vit", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &vit_encoder, &vit_block,
                                              &in_proj_attention, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.vit", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
