/* gradcheck.c - one call checks an op: kernel against reference, gradient against differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck_trial.h"
#include "tutti/rng.h"

#include "graph/ir/precision.h"
#include "graph/passes/autodiff.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR 0.01
#define EPSILON 1e-6
#define WORK 4000000 /* numbers that the differences of one input may touch */

const tutti_step check_step = {sizeof check_step, 1, 17, 3, 8};

static void trial_fini(trial *t)
{
    for (uint32_t j = 0; j < MAX_ARGS; j++)
        free(t->weights[j]);
    interpreter_destroy(t->it);
    graph_destroy(t->g);
    memset(t, 0, sizeof *t);
}

static const tutti_op *find_op(const tutti_op *const *table, const char *name)
{
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

uint64_t op_check_seed;

/* What a tensor of that dtype has of it; of F32, which tolerances are of, the number itself. */
static double stored(double x, int32_t dtype)
{
    uint64_t bytes = 0;
    const tutti_tensor one = {&bytes, {{1}, 1, dtype}, TUTTI_DEVICE_CPU, 0};
    if (!dtype_is_f8(dtype) && !dtype_is_half(dtype))
        return x;
    tensor_set(&one, 0, x);
    return tensor_get(&one, 0);
}

double check_draw(const op_case *c, uint32_t input, int32_t dtype, int64_t k)
{
    const tutti_rng4 r =
        tutti_rng(c->seed ^ op_check_seed, TUTTI_RNG_DATASET, input, (uint64_t)k);
    const double u = tutti_uniform_f64(r.v[0], r.v[1]);
    double low = c->low[input], high = c->high[input];
    const bool unset = low == 0.0 && high == 0.0;
    if (!graph_is_floating(dtype))
        return unset ? 0.0 : floor(low + u * (high - low));
    if (unset) {
        low = -1.0;
        high = 1.0;
    }
    return stored(low + u * (high - low), dtype);
}

/* Weight of element k of result j in the random projection, in +-[0.5, 1.5). */
static double projection(const op_case *c, uint32_t order, uint32_t j, int64_t k)
{
    const tutti_rng4 r =
        tutti_rng(c->seed ^ 0x5DEECE66Du, TUTTI_RNG_DATASET, order * 64 + j, (uint64_t)k);
    const double u = 0.5 + tutti_uniform_f64(r.v[0], r.v[1]);
    return r.v[2] & 1 ? u : -u;
}

static void index_text(const tutti_desc *d, int64_t flat, char *text, size_t size)
{
    int64_t at[TUTTI_MAX_RANK] = {0};
    for (int32_t k = d->rank; k-- > 0;) {
        at[k] = d->dim[k] ? flat % d->dim[k] : 0;
        flat = d->dim[k] ? flat / d->dim[k] : 0;
    }
    size_t used = (size_t)snprintf(text, size, "(");
    for (int32_t k = 0; k < d->rank; k++)
        used +=
            (size_t)snprintf(text + used, size - used, k ? ", %lld" : "%lld", (long long)at[k]);
    (void)snprintf(text + used, size - used, ")");
}

/* Compares n numbers; the worst element goes into the sentence. */
tutti_status check_compare(const op_case *c, const char *what, const tutti_desc *d,
                           const double *got, const double *want, double tolerance,
                           tutti_error *err)
{
    double scale = FLOOR, worst = 0.0;
    int64_t at = -1;
    char where[128];
    const int64_t n = tutti_numel(d);
    for (int64_t k = 0; k < n; k++)
        if (isfinite(want[k]))
            scale = fmax(scale, fabs(want[k]));
    for (int64_t k = 0; k < n; k++) {
        const bool same = got[k] == want[k];
        const double e = same ? 0.0 : fabs(got[k] - want[k]) / scale;
        if (isnan(e) || (isinf(e) && !(worst > e))) {
            at = k;
            break;
        }
        if (e > worst) {
            worst = e;
            at = k;
        }
    }
    if (at < 0 || (fabs(got[at] - want[at]) <= tolerance * scale))
        return TUTTI_OK;
    index_text(d, at, where, sizeof where);
    return tutti_fail(err, TUTTI_E_NUMERIC, "%s: %s: element %s is %.9g, want %.9g (+-%.3g)",
                      c->op, what, where, got[at], want[at], tolerance * scale);
}

static double project(const trial *t)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < t->nout; j++) {
        if (!t->out[j])
            continue;
        const int64_t n = tutti_numel(&graph_value_at(t->g, t->out[j])->desc);
        const double *y = interpreter_value(t->it, t->out[j]);
        for (int64_t k = 0; k < n; k++)
            sum += t->weights[j][k] * y[k];
    }
    return sum;
}

static tutti_status draw_weights(trial *t, uint32_t order, tutti_error *err)
{
    for (uint32_t j = 0; j < t->nout; j++) {
        if (!t->out[j])
            continue;
        const int64_t n = tutti_numel(&graph_value_at(t->g, t->out[j])->desc);
        t->weights[j] = malloc(sizeof(double) * (size_t)(n + 1));
        if (!t->weights[j])
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", t->c->op);
        for (int64_t k = 0; k < n; k++)
            t->weights[j][k] = projection(t->c, order, j, k);
    }
    return TUTTI_OK;
}

/* Every how many elements of an input of `n` a difference is taken: all of them where that is
 * cheap, and never fewer than 16. */
static int64_t stride_for(const trial *t, uint32_t nnodes, int64_t n)
{
    int64_t numbers = 1;
    for (uint32_t k = 0; k < nnodes; k++) {
        const graph_node *node = graph_node_at(t->g, k);
        for (uint32_t j = 0; j < node->nin; j++)
            numbers += tutti_numel(&graph_value_at(t->g, node->in[j])->desc);
        for (uint32_t j = 0; j < node->op->nout; j++)
            numbers += tutti_numel(&graph_value_at(t->g, node->out + j)->desc);
    }
    int64_t samples = WORK / numbers;
    samples = samples < 16 ? 16 : samples;
    return n <= samples ? 1 : (n + samples - 1) / samples | 1;
}

/* Writes to slope[k] the central difference along element k of input i; leaves alone what the
 * stride passes over. */
static tutti_status differences(trial *t, uint32_t i, uint32_t nnodes, double *slope,
                                tutti_error *err)
{
    double *x = interpreter_value(t->it, t->in[i]);
    const int64_t n = tutti_numel(&graph_value_at(t->g, t->in[i])->desc);
    const int64_t stride = stride_for(t, nnodes, n);
    for (int64_t k = 0; k < n; k += stride) {
        const double kept = x[k];
        x[k] = kept + EPSILON;
        tutti_status s = interpreter_run(t->it, 0, nnodes, &check_step, err);
        const double up = project(t);
        x[k] = kept - EPSILON;
        if (!s)
            s = interpreter_run(t->it, 0, nnodes, &check_step, err);
        slope[k] = (up - project(t)) / (2.0 * EPSILON);
        x[k] = kept;
        if (s)
            return s;
    }
    return interpreter_run(t->it, 0, nnodes, &check_step, err);
}

/* A new interpreter with every input drawn; runs all nodes. */
static tutti_status trial_run(trial *t, tutti_error *err)
{
    tutti_status s = interpreter_create(t->g, &t->it, err);
    for (uint32_t k = 0; k < t->nin && !s; k++) {
        const tutti_desc *d = &graph_value_at(t->g, t->in[k])->desc;
        double *x = interpreter_value(t->it, t->in[k]);
        for (int64_t j = 0, n = tutti_numel(d); j < n; j++) {
            x[j] = t->order[k] ? projection(t->c, t->order[k], t->result[k], j)
                               : check_draw(t->c, k, d->dtype, j);
            if (!t->order[k] && d->dtype == TUTTI_F32)
                x[j] = (double)(float)x[j];
        }
    }
    return s ? s : interpreter_run(t->it, 0, graph_nnodes(t->g), &check_step, err);
}

/* Extends `t` by its gradient: the new inputs are the projection, the new results the gradients of
 * the wanted inputs. */
static tutti_status extend(trial *t, uint32_t order, tutti_value *ret_dx, tutti_error *err)
{
    tutti_value dy[MAX_ARGS] = {0}, wrt[MAX_ARGS], dx[MAX_ARGS];
    uint32_t nwrt = 0;
    for (uint32_t j = 0; j < t->nout; j++)
        if (t->out[j])
            dy[j] = graph_input(t->g, &graph_value_at(t->g, t->out[j])->desc);
    for (uint32_t k = 0; k < t->nin; k++)
        if (t->wanted[k])
            wrt[nwrt++] = t->in[k];
    if (graph_gradient(t->g, t->out, dy, t->nout, wrt, nwrt, dx))
        return graph_error(t->g, err);
    for (uint32_t k = 0, j = 0; k < t->nin; k++)
        ret_dx[k] = t->wanted[k] ? dx[j++] : 0;
    for (uint32_t j = 0; j < t->nout; j++) {
        if (!dy[j])
            continue;
        t->in[t->nin] = dy[j];
        t->order[t->nin] = order;
        t->result[t->nin] = j;
        t->wanted[t->nin++] = true;
    }
    return TUTTI_OK;
}

static const char *order_name(uint32_t order)
{
    return order == 1 ? "gradient" : "second gradient";
}

/* Compares the gradients dx, made by `extend` from the trial `before`, with differences. */
static tutti_status check_slopes(trial *t, uint32_t order, uint32_t nin, uint32_t nnodes,
                                 const tutti_value *dx, tutti_error *err)
{
    const double tolerance = t->c->grad_tolerance > 0.0 ? t->c->grad_tolerance : 1e-5;
    char what[96];
    tutti_status s = trial_run(t, err);
    if (!s)
        s = draw_weights(t, order, err);
    for (uint32_t k = 0; k < nin && !s; k++) {
        if (!t->wanted[k])
            continue;
        const tutti_desc d = graph_value_at(t->g, t->in[k])->desc;
        const size_t n = (size_t)tutti_numel(&d);
        double *slope = calloc(n + 1, sizeof *slope), *none = calloc(n + 1, sizeof *none);
        const double *got = dx[k] ? interpreter_value(t->it, dx[k]) : none;
        if (!slope || !none) {
            s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the check", t->c->op);
        } else {
            memcpy(slope, got, sizeof *slope * n);
            s = differences(t, k, nnodes, slope, err);
        }
        (void)snprintf(what, sizeof what, "%s of input %u against differences",
                       order_name(order), k);
        if (!s)
            s = check_compare(t->c, what, &d, got, slope, tolerance, err);
        free(slope);
        free(none);
    }
    return s;
}

static bool all_differentiable(const graph *g, const tutti_value *roots, uint32_t nroots)
{
    bool *live = calloc(graph_nnodes(g) + 1u, sizeof *live), all = live != NULL;
    if (live)
        graph_mark_live(g, roots, nroots, live);
    for (uint32_t k = 0; k < graph_nnodes(g) && all; k++)
        all = !live[k] || graph_node_at(g, k)->op->vjp;
    free(live);
    return all;
}

/* A fresh graph of the op alone, or of its decomposition. */
static tutti_status trial_init(trial *t, const tutti_op *const *table, const op_case *c,
                               bool decomposed, tutti_error *err)
{
    *t = (trial){.c = c, .op = find_op(table, c->op), .nin = c->nin};
    if (!t->op)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "there is no operation \"%s\"", c->op);
    t->g = graph_create(table, TUTTI_MODE_TRAIN, NULL);
    if (!t->g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the graph");
    tutti_graph *b = graph_builder(t->g);
    for (uint32_t k = 0; k < c->nin; k++) {
        t->in[k] = graph_input(t->g, &c->in[k]);
        t->wanted[k] = graph_is_floating(c->in[k].dtype) && !(c->no_grad >> k & 1);
    }
    t->nout = t->op->nout;
    (void)b->emit(b, c->op, t->in, c->nin, c->attr, c->nattr, t->out, t->nout);
    if (decomposed && !b->status(b)) {
        const graph_node n = *graph_node_at(t->g, 0);
        tutti_value outs[TUTTI_OP_MAX_OUT];
        memcpy(outs, t->out, sizeof outs);
        const tutti_node node = {sizeof node, n.nin, t->nout, 0, n.in, outs, n.attr};
        if (t->op->decompose(b, &node, t->out))
            (void)b->fail(b, TUTTI_E_FAIL, "decompose failed without a reason");
    }
    for (uint32_t j = 0; j < t->nout && !b->status(b); j++)
        if (c->no_grad_out >> j & 1 || !graph_is_floating(b->desc(b, t->out[j])->dtype))
            t->out[j] = 0;
    return graph_error(t->g, err);
}

static tutti_status check_decompose(const tutti_op *const *table, const trial *first,
                                    tutti_error *err)
{
    trial t;
    char what[64];
    tutti_status s = trial_init(&t, table, first->c, true, err);
    if (!s)
        s = trial_run(&t, err);
    for (uint32_t j = 0; j < t.nout && !s; j++) {
        (void)snprintf(what, sizeof what, "decompose against reference, result %u", j);
        if (t.out[j])
            s = check_compare(t.c, what, &graph_value_at(t.g, t.out[j])->desc,
                              interpreter_value(t.it, t.out[j]),
                              interpreter_value(first->it, graph_node_at(first->g, 0)->out + j),
                              1e-9, err);
    }
    trial_fini(&t);
    return s;
}

static tutti_status check_first(const tutti_op *const *table, const op_case *c,
                                tutti_error *err)
{
    trial t;
    tutti_value dx[MAX_ARGS] = {0};
    tutti_status s = trial_init(&t, table, c, false, err);
    const uint32_t nnodes = s ? 0 : graph_nnodes(t.g);
    if (!s)
        s = extend(&t, 1, dx, err);
    if (!s)
        s = check_slopes(&t, 1, c->nin, nnodes, dx, err);
    trial_fini(&t);
    return s;
}

/* The gradient's gradient; *ret_closed stays false when an op on the way has none. */
static tutti_status check_second(const tutti_op *const *table, const op_case *c,
                                 bool decomposed, bool *ret_closed, tutti_error *err)
{
    trial t;
    tutti_value dx[MAX_ARGS] = {0}, ddx[MAX_ARGS] = {0};
    tutti_status s = trial_init(&t, table, c, decomposed, err);
    if (!s && decomposed && !all_differentiable(t.g, t.out, t.nout))
        goto done;
    if (!s)
        s = extend(&t, 1, dx, err);
    if (s || !all_differentiable(t.g, dx, c->nin))
        goto done;
    *ret_closed = true;
    const uint32_t nnodes = graph_nnodes(t.g), nin = t.nin;
    memcpy(t.out, dx, sizeof dx);
    t.nout = c->nin;
    s = extend(&t, 2, ddx, err);
    if (!s)
        s = check_slopes(&t, 2, nin, nnodes, ddx, err);
done:
    trial_fini(&t);
    return s;
}

static tutti_status check_gradients(const tutti_op *const *table, const trial *t,
                                    tutti_error *err)
{
    const op_case *c = t->c;
    bool closed = false, any = false;
    for (uint32_t k = 0; k < c->nin; k++)
        any = any || t->wanted[k];
    if (!any)
        return TUTTI_OK;
    if (!t->op->vjp)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: it has no gradient, but the case asks for one", c->op);
    tutti_status s = check_first(table, c, err);
    if (!s && !c->no_second)
        s = check_second(table, c, false, &closed, err);
    if (!s && !c->no_second && !closed && t->op->decompose)
        s = check_second(table, c, true, &closed, err);
    return s;
}

tutti_status op_check(const tutti_op *const *table, const op_case *c, tutti_error *err)
{
    trial t;
    tutti_status s = trial_init(&t, table, c, false, err);
    if (!s)
        s = trial_run(&t, err);
    if (op_check_device) {
        s = s ? s : check_on_device(&t, err);
        trial_fini(&t);
        return s;
    }
    if (!s && t.op->cpu)
        s = check_kernel(&t, err);
    else if (!s && !(t.op->flags & TUTTI_OP_VIEW))
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: there is no CPU kernel", c->op);
    if (!s && t.op->decompose)
        s = check_decompose(table, &t, err);
    if (!s)
        s = check_gradients(table, &t, err);
    trial_fini(&t);
    return s;
}
