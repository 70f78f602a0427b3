/* plugin.c - siamese: one perceptron on each part of a sample. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_HIDDEN = 64 };

typedef struct siamese {
    const tutti_module_v1 *modules;
    char activation[16];
    int64_t parts;
    int64_t width; /* numbers of a part */
    int64_t dim;
    uint64_t nhidden;
    int64_t hidden[MAX_HIDDEN];
} siamese;

static tutti_status siamese_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    siamese *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "siamese: no memory");
    const tutti_param *hidden = tutti_param_find(params, "hidden");
    const char *activation = tutti_param_str(params, "activation");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    m->nhidden = hidden->count < MAX_HIDDEN ? hidden->count : MAX_HIDDEN;
    for (uint64_t k = 0; k < m->nhidden; k++)
        m->hidden[k] = hidden->items[k]->i;
    (void)snprintf(m->activation, sizeof m->activation, "%s", activation ? activation : "relu");
    m->parts = tutti_param_i64(params, "parts");
    m->dim = tutti_param_i64(params, "dim");
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status siamese_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Finds the width of a part of the column "input". */
static tutti_status find_width(siamese *m, const tutti_column *columns, uint32_t n,
                               tutti_error *err)
{
    const tutti_desc *d = NULL;
    char text[96];
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(columns[k].name, "input") == 0)
            d = &columns[k].desc;
    if (!d)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "siamese: the data has no column \"input\", which the model needs");
    (void)tutti_desc_text(d, text, sizeof text);
    if (d->dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG,
                          "siamese: the input is %s, want F32; add the transform normalize",
                          text);
    if (d->rank < 1 || d->dim[0] < m->parts || d->dim[0] % m->parts)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "siamese: samples are %s, want a first dimension that %lld parts "
                          "divide",
                          text, (long long)m->parts);
    m->width = tutti_numel(d) / m->parts;
    return TUTTI_OK;
}

/* body: linear0 act0 linear1 ... head */
static tutti_status siamese_build(void *self, tutti_module root, const tutti_column *columns,
                                  uint32_t ncolumns, tutti_error *err)
{
    siamese *m = self;
    tutti_module body;
    tutti_status s = find_width(m, columns, ncolumns, err);
    if (s || (s = model_add(m->modules, root, "body", "sequential", NULL, 0, &body, err)))
        return s;
    int64_t width = m->width;
    for (uint64_t k = 0; k < m->nhidden; k++) {
        char linear[32], act[32];
        (void)snprintf(linear, sizeof linear, "linear%llu", (unsigned long long)k);
        (void)snprintf(act, sizeof act, "act%llu", (unsigned long long)k);
        if ((s = model_linear(m->modules, body, linear, width, m->hidden[k], err)) ||
            (s = model_add(m->modules, body, act, m->activation, NULL, 0, NULL, err)))
            return s;
        width = m->hidden[k];
    }
    return model_linear(m->modules, body, "head", width, m->dim, err);
}

/* (B, P h, ...) as (B, P, numbers of a part) -> (B, P, dim) */
static tutti_status siamese_trace(void *self, tutti_graph *g, tutti_module root,
                                  const tutti_value *inputs, uint32_t ninputs,
                                  tutti_value *outputs, uint32_t noutputs)
{
    const siamese *m = self;
    (void)ninputs, (void)noutputs;
    const int64_t rows[3] = {g->desc(g, inputs[0])->dim[0], m->parts, m->width};
    outputs[0] = model_call(m->modules, g, root, "body", tutti_reshape(g, inputs[0], rows, 3));
    return g->status(g);
}

static tutti_value siamese_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                                uint32_t noutputs, const tutti_value *targets,
                                uint32_t ntargets, int32_t reduction)
{
    (void)self, (void)outputs, (void)noutputs, (void)targets, (void)ntargets, (void)reduction;
    (void)g->fail(g, TUTTI_E_ARG,
                  "siamese has no loss of its own; set \"loss\", to cosine_embedding for "
                  "pairs or to triplet for triples");
    return 0;
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = siamese_build,
                                     .trace = siamese_trace,
                                     .loss = siamese_loss};

static const void *siamese_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.siamese", "1.0.0", "siamese", TUTTI_KIND_MODEL,
                    .open = siamese_open, .close = siamese_close, .query = siamese_query);
