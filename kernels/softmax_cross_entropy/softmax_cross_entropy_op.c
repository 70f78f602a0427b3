/* softmax_cross_entropy_op.c - cross entropy against classes or soft targets, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/softmax.h"

/* logits (B, N); target: classes (B) in i32 or i64, or weights (B, N) f32, which need not sum to 1.
 * loss_b = sum_n t_bn (log sum_m exp(z_bm) - z_bn)
 * dz_bn = dloss_b (softmax(z)_bn sum_m t_bm - t_bn), dt_bn = dloss_b (lse_b - z_bn) */

static tutti_status check(const char *op, const tutti_op_call *c, tutti_error *err)
{
    const tutti_desc *z = &c->in[0], *t = &c->in[1];
    char tz[96], tt[96];
    tutti_status s;
    if ((s = op_want_f32(op, "logits", z, err)) || (s = op_want_rank(op, "logits", z, 2, err)))
        return s;
    const int classes = op_is_index(t->dtype) && t->rank == 1;
    const int weights = t->dtype == TUTTI_F32 && tutti_same_shape(t, z);
    if (!weights && !(classes && t->dim[0] == z->dim[0]))
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "%s: logits are %s and the target is %s, want classes (B) of I32 or I64, "
            "or F32 in the shape of the logits",
            op, tutti_desc_text(z, tz, sizeof tz), tutti_desc_text(t, tt, sizeof tt));
    return TUTTI_OK;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    *out = (tutti_desc){{c->in[0].dim[0]}, 1, TUTTI_F32};
    return check("softmax_cross_entropy", c, err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t batch = c->in[0].dim[0], n = c->in[0].dim[1];
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * n, lse = softmax_log_sum_f64(z, 1, n);
        double loss = 0.0;
        if (c->in[1].rank == 1) {
            const double k = in[1][b];
            if (k < 0 || k >= (double)n)
                return TUTTI_E_RANGE;
            loss = lse - z[(int64_t)k];
        } else
            for (int64_t k = 0; k < n; k++)
                loss += in[1][b * n + k] * (lse - z[k]);
        out[0][b] = loss;
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t batch = c->in[0].dim[0], n = c->in[0].dim[1];
    const float *logits = in[0];
    float *loss = out[0];
    int bad = 0;
    const int threads = op_threads(c, batch * n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int64_t b = 0; b < batch; b++) {
        const float *z = logits + b * n, max = softmax_max(z, n);
        const double rest = log(softmax_sum(z, max, n)); /* log sum exp(z) - max */
        if (c->in[1].rank == 1) {
            const int64_t k = op_index_at(in[1], c->in[1].dtype, b);
            if (k < 0 || k >= n) {
                bad = 1;
                continue;
            }
            loss[b] = (float)(rest + ((double)max - (double)z[k]));
            continue;
        }
        const float *t = (const float *)in[1] + b * n;
        double sum = 0.0;
        for (int64_t k = 0; k < n; k++)
            sum += (double)t[k] * (rest + ((double)max - (double)z[k]));
        loss[b] = (float)sum;
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_value in[3] = {n->in[0], n->in[1], dy[0]};
    if (n->need & 1)
        dx[0] = g->emit(g, "softmax_cross_entropy_grad", in, 3, NULL, 0, NULL, 0);
    if (n->need & 2) { /* -dloss log_softmax(z) */
        const tutti_attr axis = tutti_attr_i("axis", 1);
        const tutti_value l = g->emit(g, "log_softmax", &n->in[0], 1, &axis, 1, NULL, 0);
        const int64_t column[2] = {g->desc(g, n->in[0])->dim[0], 1};
        dx[1] = tutti_mul(g, tutti_affine(g, l, -1.0, 0.0), tutti_reshape(g, dy[0], column, 2));
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc row = {{c->in[0].dim[0]}, 1, TUTTI_F32};
    *out = c->in[0];
    const tutti_status s = check("softmax_cross_entropy_grad", c, err);
    return s ? s
             : op_want_same("softmax_cross_entropy_grad", "dloss", &c->in[2], "the loss", &row,
                            err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const int64_t batch = c->in[0].dim[0], n = c->in[0].dim[1];
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * n, lse = softmax_log_sum_f64(z, 1, n), d = in[2][b];
        double total = 1.0;
        if (c->in[1].rank == 2) {
            total = 0.0;
            for (int64_t k = 0; k < n; k++)
                total += in[1][b * n + k];
        } else if (in[1][b] < 0 || in[1][b] >= (double)n)
            return TUTTI_E_RANGE;
        for (int64_t k = 0; k < n; k++) {
            const double t =
                c->in[1].rank == 2 ? in[1][b * n + k] : (double)(in[1][b] == (double)k);
            out[0][b * n + k] = d * (exp(z[k] - lse) * total - t);
        }
    }
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t batch = c->in[0].dim[0], n = c->in[0].dim[1];
    const float *logits = in[0], *dloss = in[2];
    float *dlogits = out[0];
    int bad = 0;
    const int threads = op_threads(c, batch * n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int64_t b = 0; b < batch; b++) {
        const float *z = logits + b * n, max = softmax_max(z, n), d = dloss[b];
        float *dz = dlogits + b * n, total = 1.0f;
        const float *t = c->in[1].rank == 2 ? (const float *)in[1] + b * n : NULL;
        const int64_t k = t ? 0 : op_index_at(in[1], c->in[1].dtype, b);
        if (k < 0 || k >= n) {
            bad = 1;
            continue;
        }
        if (t) {
            total = 0.0f;
            for (int64_t j = 0; j < n; j++)
                total += t[j];
        }
        softmax_exp(z, max, (float)((double)(d * total) / softmax_sum(z, max, n)), dz, n);
        for (int64_t j = 0; t && j < n; j++)
            dz[j] -= d * t[j];
        if (!t)
            dz[k] -= d;
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

/* For the second order, with p = softmax(z), v = dy of this node, T = sum t:
 * d(dloss)_b = sum_n v_bn (p_bn T_b - t_bn); dz = dloss T p (v - sum p v).  Class targets have T = 1. */
static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const tutti_value z = n->in[0], t = n->in[1], d = n->in[2], v = dy[0];
    const int64_t last = 1, column[2] = {g->desc(g, z)->dim[0], 1};
    const tutti_attr axis = tutti_attr_i("axis", 1);
    const int soft = g->desc(g, t)->rank == 2;
    if (n->need & 4) {
        const tutti_value one = g->emit(
            g, "softmax_cross_entropy_grad",
            (const tutti_value[]){z, t, tutti_affine(g, d, 0.0, 1.0)}, 3, NULL, 0, NULL, 0);
        dx[2] = tutti_reduce(g, "sum", tutti_mul(g, v, one), &last, 1, 0);
    }
    if (!(n->need & 3))
        return TUTTI_OK;
    const tutti_value p = g->emit(g, "softmax", &z, 1, &axis, 1, NULL, 0);
    const tutti_value pv = tutti_reduce(g, "sum", tutti_mul(g, p, v), &last, 1, 1);
    tutti_value scale = tutti_reshape(g, d, column, 2);
    if (n->need & 2) /* dt_bn = dloss (sum p v - v_bn) */
        dx[1] = soft ? tutti_mul(g, scale, tutti_sub(g, pv, v)) : 0;
    if (soft)
        scale = tutti_mul(g, scale, tutti_reduce(g, "sum", t, &last, 1, 1));
    if (n->need & 1)
        dx[0] = tutti_mul(g, scale, tutti_mul(g, p, tutti_sub(g, v, pv)));
    return TUTTI_OK;
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, NULL, grad_run, NULL};

OP_DEFINE(softmax_cross_entropy, .nin_min = 2, .nin_max = 2, .infer = infer, .vjp = vjp,
          .reference = reference, .cpu = &cpu);
OP_DEFINE(softmax_cross_entropy_grad, .nin_min = 3, .nin_max = 3, .infer = grad_infer,
          .vjp = grad_vjp, .reference = grad_reference, .cpu = &grad_cpu);
