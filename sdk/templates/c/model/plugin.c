/* plugin.c - one_linear: a classifier that is one linear layer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/model.h"
#include "tutti/module.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct linear {
    const tutti_module_v1 *modules;
} linear;

static const char *const inputs[] = {"input", NULL};
static const char *const targets[] = {"target", NULL};

static const tutti_column *one_linear_column(const tutti_column *columns, uint32_t n,
                                             const char *name)
{
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(columns[k].name, name) == 0)
            return &columns[k];
    return NULL;
}

static tutti_status one_linear_add(const tutti_module_v1 *m, tutti_module root,
                                   const char *kind, const tutti_attr *attrs, uint32_t nattrs,
                                   tutti_error *err)
{
    tutti_module child;
    const tutti_status s = m->create(m->ctx, kind, attrs, nattrs, &child, err);
    return s ? s : m->add(m->ctx, root, kind, child, err);
}

/* The tree, for samples as `columns` say. */
static tutti_status one_linear_build(void *self, tutti_module root, const tutti_column *columns,
                                     uint32_t ncolumns, tutti_error *err)
{
    const tutti_module_v1 *m = ((const linear *)self)->modules;
    const tutti_column *x = one_linear_column(columns, ncolumns, "input"),
                       *y = one_linear_column(columns, ncolumns, "target");
    if (!x || !y || x->desc.dtype != TUTTI_F32 || y->classes < 2)
        return tutti_fail(err, TUTTI_E_ARG,
                          "one_linear: want an input of F32 and a target with classes");
    const tutti_attr sizes[] = {tutti_attr_i("in_features", tutti_numel(&x->desc)),
                                tutti_attr_i("out_features", y->classes)};
    const tutti_status s = one_linear_add(m, root, "flatten", NULL, 0, err);
    return s ? s : one_linear_add(m, root, "linear", sizes, 2, err);
}

static tutti_status one_linear_trace(void *self, tutti_graph *g, tutti_module root,
                                     const tutti_value *in, uint32_t ninputs,
                                     tutti_value *outputs, uint32_t noutputs)
{
    const tutti_module_v1 *m = ((const linear *)self)->modules;
    tutti_value flat = 0;
    (void)ninputs;
    (void)noutputs;
    if (g->call(g, m->child(m->ctx, root, "flatten"), in, 1, &flat, 1))
        return g->status(g);
    return g->call(g, m->child(m->ctx, root, "linear"), &flat, 1, outputs, 1);
}

static tutti_value one_linear_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                                   uint32_t noutputs, const tutti_value *wanted,
                                   uint32_t ntargets, int32_t reduction)
{
    (void)self;
    (void)noutputs;
    (void)ntargets;
    const tutti_value each = tutti_softmax_cross_entropy(g, outputs[0], wanted[0]);
    return reduction == TUTTI_REDUCTION_MEAN ? tutti_reduce(g, "mean", each, NULL, 0, 0) : each;
}

static tutti_status one_linear_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const tutti_module_v1 *modules = host->query(host->ctx, TUTTI_MODULE_V1);
    (void)params;
    if (!modules)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "one_linear: this host has no %s",
                          TUTTI_MODULE_V1);
    linear *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "one_linear: no memory");
    l->modules = modules;
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status one_linear_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *one_linear_query(void *self, const char *interface_id)
{
    static const tutti_model_v1 table = {.struct_size = sizeof table,
                                         .noutputs = 1,
                                         .inputs = inputs,
                                         .targets = targets,
                                         .build = one_linear_build,
                                         .trace = one_linear_trace,
                                         .loss = one_linear_loss};
    (void)self;
    return strcmp(interface_id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = one_linear_open,
                                  .close = one_linear_close,
                                  .query = one_linear_query};
static const tutti_object object = TUTTI_OBJECT_INIT("one_linear", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.one_linear", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
