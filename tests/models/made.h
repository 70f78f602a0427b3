/* made.h - a model as the host builds it, and its f32 plans against the f64 interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODELS_MADE_H
#define TESTS_MODELS_MADE_H

#include "graph/ir/interpreter.h"
#include "graph/passes/autodiff.h"
#include "graph/plan/plan_internal.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "tutti/rng.h"
#include "tutti/state.h"
#include "tutti_check.h"

#include <math.h>
#include <stdio.h>

enum { MADE_WEIGHTS = 512 };

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

/* Whether the numbers agree to `tolerance` times the largest of `want`, or `least`. */
static inline void ck_close_all(const char *what, const float *got, const double *want,
                                int64_t n, double least, double tolerance)
{
    double scale = least, worst = 0.0;
    for (int64_t k = 0; k < n; k++)
        scale = fmax(scale, fabs(want[k]));
    for (int64_t k = 0; k < n; k++) {
        ck_assert_msg(isfinite(got[k]), "%s: element %lld is %g", what, (long long)k,
                      (double)got[k]);
        worst = fmax(worst, fabs((double)got[k] - want[k]));
    }
    ck_assert_msg(worst <= tolerance * scale, "%s is off by %g, largest %g", what, worst,
                  scale);
}

/* One batch, and how close f32 has to come. */
typedef struct trial {
    tutti_tensor inputs[3]; /* ninputs of them */
    tutti_tensor target;
    uint32_t ninputs;
    uint32_t reserved;
    double least;    /* smaller numbers count as this one */
    double outputs;  /* tolerance of outputs and loss */
    double gradient; /* of each weight */
} trial;

static inline void load_weights(interpreter *it, const graph *g, const net *n)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        if (graph_value_at(g, v)->kind != VALUE_WEIGHT)
            continue;
        const weight *w = n->tree.weights[graph_value_at(g, v)->index];
        const tutti_tensor t = {w->data, w->desc, TUTTI_DEVICE_CPU, 0};
        interpreter_load(it, v, &t);
    }
}

/* Values of the f64 side, and the graph that they are of. */
typedef struct defined {
    graph *g;
    interpreter *it;
    tutti_value out, loss;
    tutti_value wrt[MADE_WEIGHTS], dw[MADE_WEIGHTS];
    uint32_t nwrt;
} defined;

static inline void define_gradient(defined *d)
{
    float one = 1.0f;
    const tutti_tensor unit = {&one, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    tutti_graph *b = graph_builder(d->g);
    const tutti_value dloss = b->constant(b, &unit);
    for (tutti_value v = 1; v < graph_nvalues(d->g) && d->nwrt < MADE_WEIGHTS; v++)
        if (graph_value_at(d->g, v)->kind == VALUE_WEIGHT && graph_value_at(d->g, v)->trainable)
            d->wrt[d->nwrt++] = v;
    ck_assert_int_eq(graph_gradient(d->g, &d->loss, &dloss, 1, d->wrt, d->nwrt, d->dw),
                     TUTTI_OK);
}

/* Output, loss and in training the gradients from the definitions of the operations and their rules. */
static inline void define(defined *d, made *m, int32_t mode, const trial *t,
                          const tutti_step *step)
{
    tutti_value in[3];
    memset(d, 0, sizeof *d);
    d->g = net_graph(m->net, mode);
    tutti_graph *b = graph_builder(d->g);
    for (uint32_t k = 0; k < t->ninputs; k++)
        in[k] = graph_input(d->g, &t->inputs[k].desc);
    const tutti_value target = graph_input(d->g, &t->target.desc);
    (void)m->table->trace(instance_self(m->model), b, 1, in, t->ninputs, &d->out, 1);
    d->loss = m->table->loss(instance_self(m->model), b, &d->out, 1, &target, 1,
                             TUTTI_REDUCTION_MEAN);
    ck_assert_ok(graph_error(d->g, &err), err);
    if (mode == TUTTI_MODE_TRAIN)
        define_gradient(d);
    ck_assert_ok(interpreter_create(d->g, &d->it, &err), err);
    load_weights(d->it, d->g, m->net);
    for (uint32_t k = 0; k < t->ninputs; k++)
        interpreter_load(d->it, in[k], &t->inputs[k]);
    interpreter_load(d->it, target, &t->target);
    ck_assert_ok(interpreter_run(d->it, 0, graph_nnodes(d->g), step, &err), err);
}

static inline plan *planned(made *m, int kind, const trial *t)
{
    plan_request request = {
        .kind = kind, .ninputs = t->ninputs, .ntargets = 1, .targets = {t->target.desc}};
    plan *p;
    for (uint32_t k = 0; k < t->ninputs; k++)
        request.inputs[k] = t->inputs[k].desc;
    ck_assert_ok(net_plan(m->net, &request, &p, &err), err);
    for (uint32_t k = 0; k < t->ninputs; k++)
        memcpy(plan_input(p, k).data, t->inputs[k].data, tutti_nbytes(&t->inputs[k].desc));
    memcpy(plan_target(p, 0).data, t->target.data, tutti_nbytes(&t->target.desc));
    return p;
}

/* Runs the model both ways in `mode`: the output of shape `want`, the loss, and in training the gradients
 * of all weights. */
static inline void compare(made *m, int32_t mode, const trial *t, const tutti_desc *want)
{
    const int train = mode == TUTTI_MODE_TRAIN;
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    static defined d;
    define(&d, m, mode, t, &step); /* first: with the weights of before the plan runs */
    plan *p = planned(m, train ? PLAN_TRAIN : PLAN_EVAL, t);
    for (int segment = 0; segment < (train ? 3 : 2); segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    const tutti_tensor got = plan_output(p, 0), l = plan_loss(p);
    ck_assert(tutti_same_shape(&got.desc, want));
    ck_assert_int_eq(l.desc.rank, 0);
    ck_close_all("the output", got.data, interpreter_value(d.it, d.out), tutti_numel(want),
                 t->least, t->outputs);
    ck_close_all("the loss", l.data, interpreter_value(d.it, d.loss), 1, t->least, t->outputs);
    for (uint32_t k = 0; k < d.nwrt; k++) {
        const weight *w = m->net->tree.weights[graph_value_at(d.g, d.wrt[k])->index];
        ck_assert_uint_ne(d.dw[k], 0);
        ck_close_all(w->path, w->grad, interpreter_value(d.it, d.dw[k]), tutti_numel(&w->desc),
                     t->least, t->gradient);
    }
    interpreter_destroy(d.it);
    graph_destroy(d.g);
}

#endif
