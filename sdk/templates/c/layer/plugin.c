/* plugin.c - scale_each: y = x * weight, a weight for each number of the last dimension. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/layer.h"
#include "tutti/module.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct scaling {
    const tutti_module_v1 *modules;
    int64_t features;
} scaling;

/* Declares the weights; once, after open. */
static tutti_status scale_each_build(void *self, tutti_module m, tutti_error *err)
{
    const scaling *s = self;
    const tutti_desc desc = {{s->features}, 1, TUTTI_F32};
    const tutti_init one = {.kind = TUTTI_INIT_CONSTANT, .a = 1};
    return s->modules->weight(s->modules->ctx, m, "weight", &desc, &one, TUTTI_WEIGHT_TRAINABLE,
                              err);
}

/* Emits operations; their gradients come by themselves. */
static tutti_status scale_each_trace(void *self, tutti_graph *g, tutti_module m,
                                     const tutti_value *in, uint32_t nin, tutti_value *out,
                                     uint32_t nout)
{
    (void)self;
    (void)nin;
    (void)nout;
    out[0] = tutti_mul(g, in[0], g->weight(g, m, "weight"));
    return g->status(g);
}

static tutti_status scale_each_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const tutti_module_v1 *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "scale_each: this host has no %s",
                          TUTTI_MODULE_V1);
    scaling *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "scale_each: no memory");
    s->modules = modules;
    s->features = tutti_param_i64(params, "features");
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status scale_each_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *scale_each_query(void *self, const char *interface_id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = scale_each_build, .trace = scale_each_trace};
    (void)self;
    return strcmp(interface_id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = scale_each_open,
                                  .close = scale_each_close,
                                  .query = scale_each_query};
static const tutti_object object = TUTTI_OBJECT_INIT("scale_each", TUTTI_KIND_LAYER, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.scale_each", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
