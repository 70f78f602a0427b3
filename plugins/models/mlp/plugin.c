/* plugin.c - mlp: a multilayer perceptron on flattened inputs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_HIDDEN = 64 };

typedef struct mlp {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    char activation[16];
    double dropout;
    tutti_desc places; /* of a target with several classes */
    uint64_t nhidden;
    int64_t hidden[MAX_HIDDEN];
} mlp;

static tutti_status mlp_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    mlp *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mlp: no memory");
    const tutti_param *hidden = tutti_param_find(params, "hidden");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    m->nhidden = hidden->count < MAX_HIDDEN ? hidden->count : MAX_HIDDEN;
    for (uint64_t k = 0; k < m->nhidden; k++)
        m->hidden[k] = hidden->items[k]->i;
    const char *activation = tutti_param_str(params, "activation");
    (void)snprintf(m->activation, sizeof m->activation, "%s", activation ? activation : "relu");
    m->dropout = tutti_param_f64(params, "dropout");
    m->head.classes = tutti_param_i64(params, "num_classes");
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status mlp_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* body: linear0 act0 [drop0] linear1 ... head; a target with a class at each of several places has as many outputs
 * for each of them */
static tutti_status mlp_build(void *self, tutti_module root, const tutti_column *columns,
                              uint32_t ncolumns, tutti_error *err)
{
    mlp *m = self;
    tutti_desc input = {{0}, 0, 0};
    tutti_status s = classifier_columns("mlp", columns, ncolumns, &m->head, &input, err);
    tutti_module body;
    if (s || (s = model_add(m->modules, root, "body", "sequential", NULL, 0, &body, err)) ||
        (s = model_add(m->modules, body, "flatten", "flatten", NULL, 0, NULL, err)))
        return s;
    int64_t width = tutti_numel(&input);
    for (uint64_t k = 0; k < m->nhidden; k++) {
        char linear[32], act[32], drop[32];
        (void)snprintf(linear, sizeof linear, "linear%llu", (unsigned long long)k);
        (void)snprintf(act, sizeof act, "act%llu", (unsigned long long)k);
        (void)snprintf(drop, sizeof drop, "drop%llu", (unsigned long long)k);
        const tutti_attr p = tutti_attr_f("p", m->dropout);
        if ((s = model_linear(m->modules, body, linear, width, m->hidden[k], err)) ||
            (s = model_add(m->modules, body, act, m->activation, NULL, 0, NULL, err)) ||
            (m->dropout > 0 &&
             (s = model_add(m->modules, body, drop, "dropout", &p, 1, NULL, err))))
            return s;
        width = m->hidden[k];
    }
    m->places = model_column(columns, ncolumns, "target")->desc;
    const int64_t places = m->head.axes ? tutti_numel(&m->places) : 1;
    return model_linear(m->modules, body, "head", width, m->head.outputs * places, err);
}

static tutti_status mlp_trace(void *self, tutti_graph *g, tutti_module root,
                              const tutti_value *inputs, uint32_t ninputs, tutti_value *outputs,
                              uint32_t noutputs)
{
    const mlp *m = self;
    int64_t shape[TUTTI_MAX_RANK + 1] = {g->desc(g, inputs[0])->dim[0]};
    (void)ninputs, (void)noutputs;
    outputs[0] = model_call(m->modules, g, root, "body", inputs[0]);
    for (int32_t k = 0; k < m->head.axes; k++)
        shape[k + 1] = m->places.dim[k];
    shape[m->head.axes + 1] = m->head.outputs;
    if (m->head.axes)
        outputs[0] = tutti_reshape(g, outputs[0], shape, (uint32_t)m->head.axes + 2);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = mlp_build,
                                     .trace = mlp_trace,
                                     .loss = classifier_loss};

static const void *mlp_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = mlp_open, .close = mlp_close, .query = mlp_query};
static const tutti_object object = TUTTI_OBJECT_INIT("mlp", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.mlp", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
