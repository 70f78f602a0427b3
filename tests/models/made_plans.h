/* made_plans.h - a model's f32 plans against the f64 interpreter. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MODELS_MADE_PLANS_H
#define TESTS_MODELS_MADE_PLANS_H

#include "graph/ir/interpreter.h"
#include "graph/passes/autodiff.h"
#include "graph/plan/plan_internal.h"
#include "made.h"
#include "made_plans.h"

#include <math.h>

enum { MADE_WEIGHTS = 512 };

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
