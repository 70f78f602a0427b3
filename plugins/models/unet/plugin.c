/* plugin.c - unet: Ronneberger, Fischer and Brox 2015, with batch norm and zeros around images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "unet.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 8 };

typedef struct unet {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    int64_t width;
    int64_t depth;
    int64_t bilinear;
} unet;

static tutti_status unet_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const int64_t width = tutti_param_i64(params, "width");
    const int64_t bilinear = strcmp(tutti_param_str(params, "upsampling"), "bilinear") == 0;
    if (bilinear && width % 2)
        return tutti_fail(err, TUTTI_E_ARG,
                          "unet: width is %lld, and bilinear upsampling halves it",
                          (long long)width);
    unet *u = calloc(1, sizeof *u);
    if (!u)
        return tutti_fail(err, TUTTI_E_NOMEM, "unet: no memory");
    u->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    u->width = width;
    u->depth = tutti_param_i64(params, "depth");
    u->bilinear = bilinear;
    u->head.classes = tutti_param_i64(params, "num_classes");
    *ret_self = u;
    return TUTTI_OK;
}

static tutti_status unet_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Channels after `k` halvings.  Enlarging by a transposed convolution halves them, bilinear enlarging does not:
 * there the convolutions before it have done so. */
static int64_t channels_at(const unet *u, int64_t k)
{
    return (u->width << k) / (u->bilinear && k == u->depth ? 2 : 1);
}

/* down<k>: a maximum of 2x2 pixels, two convolutions. */
static tutti_status add_down(const unet *u, tutti_module root, int64_t k, tutti_error *err)
{
    char name[32];
    const tutti_attr two = tutti_attr_i("kernel_size", 2);
    const int64_t out = channels_at(u, k);
    tutti_module outer, body;
    tutti_status s;
    (void)snprintf(name, sizeof name, "down%lld", (long long)k);
    if ((s = model_add(u->modules, root, name, "sequential", NULL, 0, &outer, err)) ||
        (s = model_add(u->modules, outer, "maxpool_conv", "sequential", NULL, 0, &body, err)) ||
        (s = model_add(u->modules, body, "0", "max_pool2d", &two, 1, NULL, err)))
        return s;
    return unet_double_conv(u->modules, body, "1", channels_at(u, k - 1), out, out, err);
}

/* up<k>, from depth - k + 1 halvings to one less. */
static tutti_status add_up(const unet *u, tutti_module root, int64_t k, tutti_error *err)
{
    char name[32];
    const int64_t halvings = u->depth - k;
    const int64_t out = (u->width << halvings) / (u->bilinear && halvings ? 2 : 1);
    const tutti_attr attr[3] = {tutti_attr_i("in_channels", u->width << (halvings + 1)),
                                tutti_attr_i("out_channels", out),
                                tutti_attr_i("bilinear", u->bilinear)};
    (void)snprintf(name, sizeof name, "up%lld", (long long)k);
    return model_add(u->modules, root, name, "unet_up", attr, 3, NULL, err);
}

static tutti_status add_head(const unet *u, tutti_module root, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("in_channels", u->width),
                                tutti_attr_i("out_channels", u->head.outputs),
                                tutti_attr_i("kernel_size", 1)};
    tutti_module outer;
    const tutti_status s =
        model_add(u->modules, root, "outc", "sequential", NULL, 0, &outer, err);
    return s ? s : model_add(u->modules, outer, "conv", "conv2d", attr, 3, NULL, err);
}

/* Samples are images that can be halved as often, with a class for each pixel. */
static tutti_status unet_fits(const unet *u, const tutti_desc *input,
                              const tutti_column *columns, uint32_t ncolumns, tutti_error *err)
{
    char text[96];
    if (input->rank != 3 || input->dim[0] >> u->depth < 1 || input->dim[1] >> u->depth < 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "unet: samples are %s, want (H, W, C) large enough for %lld halvings",
                          tutti_desc_text(input, text, sizeof text), (long long)u->depth);
    return model_fits_map("unet", columns, ncolumns, 1, err);
}

static tutti_status unet_build(void *self, tutti_module root, const tutti_column *columns,
                               uint32_t ncolumns, tutti_error *err)
{
    unet *u = self;
    tutti_desc input = {{0}, 0, 0};
    tutti_status s = classifier_columns("unet", columns, ncolumns, &u->head, &input, err);
    if (s || (s = unet_fits(u, &input, columns, ncolumns, err)) ||
        (s = unet_double_conv(u->modules, root, "inc", input.dim[2], u->width, u->width, err)))
        return s;
    for (int64_t k = 1; s == TUTTI_OK && k <= u->depth; k++)
        s = add_down(u, root, k, err);
    for (int64_t k = 1; s == TUTTI_OK && k <= u->depth; k++)
        s = add_up(u, root, k, err);
    return s ? s : add_head(u, root, err);
}

static tutti_status unet_trace(void *self, tutti_graph *g, tutti_module root,
                               const tutti_value *inputs, uint32_t ninputs,
                               tutti_value *outputs, uint32_t noutputs)
{
    const unet *u = self;
    const tutti_module_v1 *m = u->modules;
    tutti_value skip[MAX_DEPTH + 1] = {0};
    char name[32];
    (void)ninputs, (void)noutputs;
    skip[0] = model_call(m, g, root, "inc", inputs[0]);
    for (int64_t k = 1; k <= u->depth; k++) {
        (void)snprintf(name, sizeof name, "down%lld", (long long)k);
        skip[k] = model_call(m, g, root, name, skip[k - 1]);
    }
    tutti_value x = skip[u->depth];
    for (int64_t k = 1; k <= u->depth && !g->status(g); k++) {
        const tutti_value in[2] = {x, skip[u->depth - k]};
        (void)snprintf(name, sizeof name, "up%lld", (long long)k);
        if (g->call(g, m->child(m->ctx, root, name), in, 2, &x, 1))
            return g->status(g);
    }
    outputs[0] = model_call(m, g, root, "outc", x);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = unet_build,
                                     .trace = unet_trace,
                                     .loss = classifier_loss};

static const void *unet_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = unet_open, .close = unet_close, .query = unet_query};
static const tutti_object object = TUTTI_OBJECT_INIT("unet", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, &unet_up, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.unet", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
