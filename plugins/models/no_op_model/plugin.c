/* plugin.c - no_op_model: a model of one weight, to see how fast the data come. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../model.h"

static tutti_status no_op_model_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const void *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    (void)params;
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "no_op_model: this host has no " TUTTI_MODULE_V1);
    *ret_self = (void *)(uintptr_t)modules; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status no_op_model_close(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static tutti_status no_op_model_build(void *self, tutti_module root,
                                      const tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    const tutti_module_v1 *s = self;
    const tutti_desc number = {{0}, 0, TUTTI_F32};
    const tutti_init init = {TUTTI_INIT_CONSTANT, 0, 1.5, 0.0, 0.0, NULL};
    for (uint32_t k = 0; k < ncolumns; k++)
        if (strcmp(columns[k].name, "target") == 0)
            return s->weight(s->ctx, root, "weight", &number, &init, TUTTI_WEIGHT_TRAINABLE,
                             err);
    return tutti_fail(err, TUTTI_E_NOTFOUND,
                      "no_op_model: the data has no column \"target\", which the model needs");
}

static tutti_value no_op_model_floats(tutti_graph *g, tutti_value x)
{
    const tutti_attr dtype = tutti_attr_i("dtype", TUTTI_F32);
    return g->desc(g, x)->dtype == TUTTI_F32 ? x
                                             : g->emit(g, "cast", &x, 1, &dtype, 1, NULL, 0);
}

static tutti_status no_op_model_trace(void *self, tutti_graph *g, tutti_module root,
                                      const tutti_value *inputs, uint32_t ninputs,
                                      tutti_value *outputs, uint32_t noutputs)
{
    (void)self, (void)ninputs, (void)noutputs;
    outputs[0] = tutti_mul(g, no_op_model_floats(g, inputs[0]), g->weight(g, root, "weight"));
    return g->status(g);
}

static tutti_value no_op_model_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                                    uint32_t noutputs, const tutti_value *targets,
                                    uint32_t ntargets, int32_t reduction)
{
    static const int64_t axes[TUTTI_MAX_RANK] = {1, 2, 3, 4, 5};
    (void)self, (void)noutputs, (void)ntargets;
    const tutti_value d = tutti_sub(g, outputs[0], no_op_model_floats(g, targets[0]));
    const tutti_value square = tutti_mul(g, d, d);
    const int32_t rank = g->desc(g, square)->rank;
    if (reduction == TUTTI_REDUCTION_MEAN)
        return tutti_reduce(g, "mean", square, NULL, 0, 0);
    return rank > 1 ? tutti_reduce(g, "mean", square, axes, (uint32_t)rank - 1, 0) : square;
}

static const char *const target[] = {"target", NULL};
static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = target,
                                     .targets = target,
                                     .build = no_op_model_build,
                                     .trace = no_op_model_trace,
                                     .loss = no_op_model_loss};

static const void *no_op_model_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = no_op_model_open,
                                  .close = no_op_model_close,
                                  .query = no_op_model_query};
static const tutti_object object = TUTTI_OBJECT_INIT("no_op_model", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.no_op_model", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
