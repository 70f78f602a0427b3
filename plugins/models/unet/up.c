/* up.c - unet_up: a step of the way up, in[0] enlarged, beside what the way down had at that size in in[1]. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unet.h"

#include "tutti/layer.h"

#include <stdlib.h>

typedef struct up {
    const tutti_module_v1 *modules;
    int64_t in; /* channels of both together */
    int64_t out;
    int64_t bilinear;
} up;

tutti_status unet_double_conv(const tutti_module_v1 *m, tutti_module parent, const char *name,
                              int64_t in, int64_t mid, int64_t out, tutti_error *err)
{
    tutti_module outer, body;
    tutti_status s;
    if ((s = model_add(m, parent, name, "sequential", NULL, 0, &outer, err)) ||
        (s = model_add(m, outer, "double_conv", "sequential", NULL, 0, &body, err)) ||
        (s = model_conv(m, body, "0", in, mid, 3, 1, err)) ||
        (s = model_norm(m, body, "1", mid, err)) ||
        (s = model_add(m, body, "2", "relu", NULL, 0, NULL, err)) ||
        (s = model_conv(m, body, "3", mid, out, 3, 1, err)) ||
        (s = model_norm(m, body, "4", out, err)))
        return s;
    return model_add(m, body, "5", "relu", NULL, 0, NULL, err);
}

static tutti_status unet_up_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    up *u = calloc(1, sizeof *u);
    if (!u)
        return tutti_fail(err, TUTTI_E_NOMEM, "unet: no memory for a block");
    u->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    u->in = tutti_param_i64(params, "in_channels");
    u->out = tutti_param_i64(params, "out_channels");
    u->bilinear = tutti_param_i64(params, "bilinear");
    *ret_self = u;
    return TUTTI_OK;
}

static tutti_status unet_up_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status unet_up_build(void *self, tutti_module m, tutti_error *err)
{
    const up *u = self;
    const tutti_attr conv[2] = {tutti_attr_i("in_channels", u->in),
                                tutti_attr_i("out_channels", u->in / 2)};
    const tutti_attr between[2] = {tutti_attr_i("mode", 1), tutti_attr_i("align_corners", 1)};
    const tutti_status s =
        u->bilinear ? model_add(u->modules, m, "up", "upsample2d", between, 2, NULL, err)
                    : model_add(u->modules, m, "up", "conv_transpose2d", conv, 2, NULL, err);
    return s ? s
             : unet_double_conv(u->modules, m, "conv", u->in, u->bilinear ? u->in / 2 : u->out,
                                u->out, err);
}

/* x with zeros around it, as large as `like`: a side that halving rounded down. */
static tutti_value up_grow(tutti_graph *g, tutti_value x, tutti_value like)
{
    const tutti_desc d = *g->desc(g, x), want = *g->desc(g, like);
    const int64_t dy = want.dim[1] - d.dim[1], dx = want.dim[2] - d.dim[2];
    const int64_t before[4] = {0, dy / 2, dx / 2, 0}, after[4] = {0, dy - dy / 2, dx - dx / 2};
    const tutti_attr attr[2] = {tutti_attr_list("before", before, 4),
                                tutti_attr_list("after", after, 4)};
    return dy || dx ? g->emit(g, "pad", &x, 1, attr, 2, NULL, 0) : x;
}

static tutti_status unet_up_trace(void *self, tutti_graph *g, tutti_module m,
                                  const tutti_value *in, uint32_t nin, tutti_value *out,
                                  uint32_t nout)
{
    const up *u = self;
    const tutti_attr last = tutti_attr_i("axis", -1);
    (void)nout;
    if (nin != 2)
        return g->fail(g, TUTTI_E_ARG,
                       "unet_up: wants what to enlarge and what goes beside it");
    const tutti_value x = up_grow(g, model_call(u->modules, g, m, "up", in[0]), in[1]);
    const tutti_value both[2] = {in[1], x};
    out[0] =
        model_call(u->modules, g, m, "conv", g->emit(g, "concat", both, 2, &last, 1, NULL, 0));
    return g->status(g);
}

static const void *unet_up_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = unet_up_build, .trace = unet_up_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = unet_up_open,
                                  .close = unet_up_close,
                                  .query = unet_up_query};
const tutti_object unet_up = TUTTI_OBJECT_INIT("unet_up", TUTTI_KIND_LAYER, &calls);
