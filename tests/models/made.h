/* made.h - a model as the host builds it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODELS_MADE_H
#define TESTS_MODELS_MADE_H

#include "graph/net/net_internal.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "tutti/rng.h"
#include "tutti/state.h"
#include "tutti_check.h"

#include <stdio.h>

/* One model in a net of its own. */
typedef struct made {
    registry *plugins;
    net *net;
    instance *model;
    const tutti_model_v1 *table;
    const tutti_column *columns; /* of the data; borrowed */
    const tutti_state_v1 *state; /* of a run, for objects that ask; NULL: there is none */
    uint32_t ncolumns;
    uint32_t reserved;
} made;

static tutti_error err;

static inline const void *made_services(void *ctx, instance *i, const char *id)
{
    const made *m = ctx;
    (void)i;
    if (strcmp(id, TUTTI_STATE_V1) == 0)
        return m->state;
    return strcmp(id, TUTTI_MODULE_V1) == 0 ? net_modules(m->net) : NULL;
}

/* Opens the object that `json` describes, as a run file does; NULL with `err`. */
static inline instance *open_object(made *m, const char *kind, const char *json)
{
    static const char *const skip[] = {"name", "id", NULL};
    const object *o;
    json_doc *doc;
    instance *i;
    faults *f = faults_create();
    ck_assert_ok(json_parse("test", json, strlen(json), &doc, &err), err);
    const char *name = json_string(json_get(json_root(doc), "name"));
    ck_assert_ok(registry_find(m->plugins, kind, name, &o, &err), err);
    tutti_params *params = params_from_json(o, json_root(doc), skip, ".", f);
    ck_assert_msg(params != NULL, "%s", faults_count(f) ? faults_text(f, 0) : "no memory");
    const tutti_status s = instance_open(o, name, params, made_services, m, &i, &err);
    if (s)
        params_free(params);
    json_free(doc);
    faults_destroy(f);
    return s ? NULL : i;
}

/* Opens the model of `json` for these columns; m->model is NULL with `err` where it will not. */
static inline void make(made *m, const char *json, const tutti_column *columns,
                        uint32_t ncolumns)
{
    char path[512];
    memset(m, 0, sizeof *m);
    memset(&err, 0, sizeof err);
    m->columns = columns;
    m->ncolumns = ncolumns;
    (void)snprintf(path, sizeof path, "%s/lib/tutti/plugins", getenv("TUTTI_BUILD"));
    ck_assert_int_eq(setenv("TUTTI_PLUGIN_PATH", path, 1), 0);
    const registry_options where = {.trust = TRUST_NONE};
    ck_assert_ok(registry_create(&where, &m->plugins, &err), err);
    const net_options options = {.ops = tutti_op_table,
                                 .layers = m->plugins,
                                 .services = made_services,
                                 .services_ctx = m,
                                 .seed = 5,
                                 .threads = 2};
    ck_assert_ok(net_create(&options, &m->net, &err), err);
    m->model = open_object(m, TUTTI_KIND_MODEL, json);
    if (m->model)
        m->table = instance_query(m->model, TUTTI_MODEL_V1);
}

static inline void build(made *m, const char *json, const tutti_column *columns,
                         uint32_t ncolumns)
{
    make(m, json, columns, ncolumns);
    ck_assert_msg(m->model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m->net, m->model, columns, ncolumns, &err), err);
    ck_assert_ok(net_commit(m->net, &err), err);
}

static inline void unmake(made *m)
{
    net_destroy(m->net);
    instance_free(m->model);
    registry_destroy(m->plugins);
}

/* Trainable numbers of the tree. */
static inline int64_t count_trainable(const made *m)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < net_weight_count(m->net); k++)
        if (net_weight(m->net, k)->flags & TUTTI_WEIGHT_TRAINABLE)
            n += tutti_numel(&net_weight(m->net, k)->data.desc);
    return n;
}

/* The same of a new tree, before anything is filled in. */
static inline int64_t count_declared(const made *m)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < m->net->tree.nweights; k++)
        if (m->net->tree.weights[k]->flags & TUTTI_WEIGHT_TRAINABLE)
            n += tutti_numel(&m->net->tree.weights[k]->desc);
    return n;
}

/* Moves every weight by up to `range`, so that none starts at zero and hides what comes before it. */
static inline void stir(made *m, double range)
{
    tutti_stream r = tutti_stream_at(11, TUTTI_RNG_PLUGIN, 0, 0);
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_weight *w = net_weight(m->net, k);
        float *x = w->data.data;
        for (int64_t i = 0; w->flags & TUTTI_WEIGHT_TRAINABLE && i < tutti_numel(&w->data.desc);
             i++)
            x[i] += (float)(range * (2.0 * tutti_stream_uniform(&r) - 1.0));
    }
}

#endif
