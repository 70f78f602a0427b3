/* layers.c - blur_conv2d and blur_max_pool2d: a blur before or behind a layer that skips pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "blurpool.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

typedef struct blur_layer {
    const tutti_module_v1 *modules;
    int64_t stride; /* of the blur */
    int64_t first;
} blur_layer;

static tutti_status blurpool_layer_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    const tutti_module_v1 *modules = algorithm_service(host, "a blur", TUTTI_MODULE_V1, err);
    if (!modules)
        return TUTTI_E_UNSUPPORTED;
    blur_layer *l = malloc(sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a blur");
    *l = (blur_layer){modules, tutti_param_i64(params, "stride"),
                      tutti_param_i64(params, "first")};
    *ret_self = l;
    return TUTTI_OK;
}

/* Whatever it blurs is put below it. */
static tutti_status blurpool_layer_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* x (B, H, W, C) with each channel convolved by [1 2 1; 2 4 2; 1 2 1] / 16, zeros around it. */
static tutti_value blurpool_blur(tutti_graph *g, tutti_value x, int64_t step)
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

static tutti_status blurpool_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                         const tutti_value *in, uint32_t nin, tutti_value *out,
                                         uint32_t nout)
{
    const blur_layer *l = self;
    const tutti_module inner = l->modules->child_at(l->modules->ctx, m, 0);
    const tutti_value x = l->first ? blurpool_blur(g, in[0], l->stride) : in[0];
    tutti_value y = 0;
    (void)nin, (void)nout;
    if (g->call(g, inner, &x, 1, &y, 1))
        return g->status(g);
    out[0] = l->first ? y : blurpool_blur(g, y, l->stride);
    return g->status(g);
}

static const void *blurpool_layer_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {.struct_size = sizeof table,
                                         .build = blurpool_layer_build,
                                         .trace = blurpool_layer_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = blurpool_layer_open,
                                  .close = surgery_close,
                                  .query = blurpool_layer_query};
const tutti_object blur_conv2d_object =
    TUTTI_OBJECT_INIT("blur_conv2d", TUTTI_KIND_LAYER, &calls);
const tutti_object blur_max_pool2d_object =
    TUTTI_OBJECT_INIT("blur_max_pool2d", TUTTI_KIND_LAYER, &calls);
