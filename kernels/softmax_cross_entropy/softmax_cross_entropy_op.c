/* softmax_cross_entropy_op.c - cross entropy against classes or soft targets, its gradient, and both at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax_cross_entropy/softmax_cross_entropy.h"

#include "common/softmax_row.h"

#include <string.h>

static const tutti_attr_field fields[] = {OP_FIELD_I64(xent_attr, ignore_index, -100),
                                          OP_FIELD_I64(xent_attr, columns, 0)};

/* The loss of logits z: a number a row. */
static tutti_desc loss_of(const tutti_desc *z)
{
    tutti_desc d = *z;
    d.dim[--d.rank] = 0;
    d.dtype = TUTTI_F32;
    return d;
}

static tutti_status check(const char *op, const tutti_op_call *c, tutti_error *err)
{
    const tutti_desc *z = &c->in[0], *t = &c->in[1];
    char tz[96], tt[96];
    const tutti_status s = op_want_f32(op, "logits", z, err);
    if (s)
        return s;
    if (z->rank < 2)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: logits is %s, want rank 2 or more", op,
                          tutti_desc_text(z, tz, sizeof tz));
    const tutti_desc rows = loss_of(z);
    const int64_t columns = ((const xent_attr *)c->attr)->columns;
    if (columns < 0 || columns > xent_pitch(z))
        return tutti_fail(
            err, TUTTI_E_RANGE, "%s: columns is %lld, want 0 to %lld, of logits %s", op,
            (long long)columns, (long long)xent_pitch(z), tutti_desc_text(z, tz, sizeof tz));
    tutti_desc counted = *z;
    counted.dim[counted.rank - 1] = xent_classes(c);
    const int classes = op_is_index(t->dtype) && tutti_same_shape(t, &rows);
    const int weights = t->dtype == TUTTI_F32 && tutti_same_shape(t, &counted);
    if (!weights && !classes)
        return tutti_fail(
            err, TUTTI_E_SHAPE,
            "%s: logits are %s and the target is %s, want classes of I32 or I64, one a row, "
            "or F32 in the shape of the logits",
            op, tutti_desc_text(z, tz, sizeof tz), tutti_desc_text(t, tt, sizeof tt));
    return TUTTI_OK;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check("softmax_cross_entropy", c, err);
    if (!s)
        *out = loss_of(&c->in[0]);
    return s;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const int64_t batch = xent_rows(&c->in[0]), n = xent_classes(c),
                  pitch = xent_pitch(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * pitch, lse = softmax_log_sum_f64(z, 1, n);
        double loss = 0.0;
        if (!xent_is_soft(c)) {
            const double k = in[1][b];
            if (k != (double)ignored && (k < 0 || k >= (double)n))
                return TUTTI_E_RANGE;
            loss = k == (double)ignored ? 0.0 : lse - z[(int64_t)k];
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
    const int64_t batch = xent_rows(&c->in[0]), n = xent_classes(c),
                  pitch = xent_pitch(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    const float *logits = in[0];
    float *loss = out[0];
    int bad = 0;
    const int soft = xent_is_soft(c);
    const int threads = op_threads(c, batch * n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int64_t b = 0; b < batch; b++) {
        const int64_t k = soft ? 0 : op_index_at(in[1], c->in[1].dtype, b);
        if (!soft && (k == ignored || k < 0 || k >= n)) {
            bad |= k != ignored;
            loss[b] = 0.0f;
            continue;
        }
        const float *z = logits + b * pitch;
        float max;
        const double rest = fast_log_f64(softmax_sum(z, n, &max)); /* log sum exp(z) - max */
        if (!soft) {
            loss[b] = (float)(rest + ((double)max - (double)z[k]));
            continue;
        }
        const float *t = (const float *)in[1] + b * n;
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            sum += (double)t[j] * (rest + ((double)max - (double)z[j]));
        loss[b] = (float)sum;
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_value emit_grad(tutti_graph *g, const xent_attr *a, const tutti_value *in)
{
    const tutti_attr attr[2] = {tutti_attr_i("ignore_index", a->ignore_index),
                                tutti_attr_i("columns", a->columns)};
    return g->emit(g, "softmax_cross_entropy_grad", in, 3, attr, 2, NULL, 0);
}

/* The columns of `v` that count. */
static tutti_value counted_columns(tutti_graph *g, const xent_attr *a, tutti_value v)
{
    const int64_t begin[TUTTI_MAX_RANK] = {0};
    tutti_desc d = *g->desc(g, v);
    if (!a->columns || !d.rank)
        return v;
    d.dim[d.rank - 1] = a->columns;
    const tutti_attr attr[2] = {tutti_attr_list("begin", begin, (uint32_t)d.rank),
                                tutti_attr_list("end", d.dim, (uint32_t)d.rank)};
    return g->emit(g, "slice", &v, 1, attr, 2, NULL, 0);
}

/* A gradient of those, with zeros behind them, in the shape of `z`. */
static tutti_value all_columns(tutti_graph *g, const xent_attr *a, tutti_value v, tutti_value z)
{
    int64_t before[TUTTI_MAX_RANK] = {0}, after[TUTTI_MAX_RANK] = {0};
    const tutti_desc d = *g->desc(g, z);
    if (!a->columns || !d.rank)
        return v;
    after[d.rank - 1] = d.dim[d.rank - 1] - a->columns;
    const tutti_attr attr[2] = {tutti_attr_list("before", before, (uint32_t)d.rank),
                                tutti_attr_list("after", after, (uint32_t)d.rank)};
    return g->emit(g, "pad", &v, 1, attr, 2, NULL, 0);
}

/* A number a row, beside the logits. */
static tutti_value column(tutti_graph *g, tutti_value v)
{
    tutti_desc d = *g->desc(g, v);
    d.dim[d.rank++] = 1;
    return tutti_reshape(g, v, d.dim, (uint32_t)d.rank);
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_value in[3] = {n->in[0], n->in[1], dy[0]};
    if (n->need & 1)
        dx[0] = emit_grad(g, n->attr, in);
    if (n->need & 2) { /* -dloss log_softmax(z) */
        const tutti_attr axis = tutti_attr_i("axis", -1);
        const tutti_value z = counted_columns(g, n->attr, n->in[0]);
        const tutti_value l = g->emit(g, "log_softmax", &z, 1, &axis, 1, NULL, 0);
        dx[1] = tutti_mul(g, tutti_affine(g, l, -1.0, 0.0), column(g, dy[0]));
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check("softmax_cross_entropy_grad", c, err);
    if (s)
        return s;
    const tutti_desc row = loss_of(&c->in[0]);
    *out = c->in[0];
    return op_want_same("softmax_cross_entropy_grad", "dloss", &c->in[2], "the loss", &row,
                        err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const int64_t batch = xent_rows(&c->in[0]), n = xent_classes(c),
                  pitch = xent_pitch(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * pitch, lse = softmax_log_sum_f64(z, 1, n), d = in[2][b];
        double total = 1.0;
        const int none = !xent_is_soft(c) && in[1][b] == (double)ignored;
        if (xent_is_soft(c)) {
            total = 0.0;
            for (int64_t k = 0; k < n; k++)
                total += in[1][b * n + k];
        } else if (!none && (in[1][b] < 0 || in[1][b] >= (double)n))
            return TUTTI_E_RANGE;
        for (int64_t k = 0; k < n; k++) {
            const double t =
                xent_is_soft(c) ? in[1][b * n + k] : (double)(in[1][b] == (double)k);
            out[0][b * pitch + k] = none ? 0.0 : d * (exp(z[k] - lse) * total - t);
        }
        for (int64_t k = n; k < pitch; k++)
            out[0][b * pitch + k] = 0.0;
    }
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const int64_t batch = xent_rows(&c->in[0]), n = xent_classes(c),
                  pitch = xent_pitch(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    const float *logits = in[0], *dloss = in[2];
    float *dlogits = out[0];
    int bad = 0;
    const int soft = xent_is_soft(c);
    const int threads = op_threads(c, batch * n * 8);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int64_t b = 0; b < batch; b++) {
        const float *t = soft ? (const float *)in[1] + b * n : NULL;
        const int64_t k = t ? 0 : op_index_at(in[1], c->in[1].dtype, b);
        float *dz = dlogits + b * pitch, total = 1.0f;
        memset(dz + n, 0, (size_t)(pitch - n) * sizeof *dz);
        if (!t && (k == ignored || k < 0 || k >= n)) {
            bad |= k != ignored;
            memset(dz, 0, (size_t)n * sizeof *dz);
            continue;
        }
        const float d = dloss[b];
        if (t) {
            total = 0.0f;
            for (int64_t j = 0; j < n; j++)
                total += t[j];
        }
        softmax_row(logits + b * pitch, dz, n, (double)(d * total));
        for (int64_t j = 0; t && j < n; j++)
            dz[j] -= d * t[j];
        if (!t)
            dz[k] -= d;
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

/* 1 where class t counts, 0 where it is ignored. */
static tutti_value counted(tutti_graph *g, const xent_attr *a, tutti_value t)
{
    const tutti_attr to = tutti_attr_i("dtype", TUTTI_F32), kind = tutti_attr_i("kind", 1);
    const tutti_value in[2] = {g->emit(g, "cast", &t, 1, &to, 1, NULL, 0),
                               op_scalar(g, (double)a->ignore_index)};
    return g->emit(g, "cmp", in, 2, &kind, 1, NULL, 0);
}

/* For the second order, with p = softmax(z), v = dy of this node, T = sum t:
 * d(dloss)_b = sum_n v_bn (p_bn T_b - t_bn); dz = dloss T p (v - sum p v).  Class targets have T = 1,
 * or 0 where they are ignored. */
static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const tutti_value t = n->in[1], d = n->in[2];
    const int64_t last = g->desc(g, n->in[0])->rank - 1;
    const tutti_attr axis = tutti_attr_i("axis", -1);
    const int soft = g->desc(g, t)->dtype == TUTTI_F32;
    if (n->need & 4) {
        const tutti_value in[3] = {n->in[0], t, tutti_affine(g, d, 0.0, 1.0)};
        const tutti_value one = emit_grad(g, n->attr, in);
        dx[2] = tutti_reduce(g, "sum", tutti_mul(g, dy[0], one), &last, 1, 0);
    }
    if (!(n->need & 3))
        return TUTTI_OK;
    const tutti_value z = counted_columns(g, n->attr, n->in[0]);
    const tutti_value v = counted_columns(g, n->attr, dy[0]);
    const tutti_value p = g->emit(g, "softmax", &z, 1, &axis, 1, NULL, 0);
    const tutti_value pv = tutti_reduce(g, "sum", tutti_mul(g, p, v), &last, 1, 1);
    tutti_value scale = column(g, d);
    if (n->need & 2) /* dt_bn = dloss (sum p v - v_bn) */
        dx[1] = soft ? tutti_mul(g, scale, tutti_sub(g, pv, v)) : 0;
    if (soft)
        scale = tutti_mul(g, scale, tutti_reduce(g, "sum", t, &last, 1, 1));
    else
        scale = tutti_mul(g, scale, column(g, counted(g, n->attr, t)));
    if (n->need & 1)
        dx[0] = all_columns(
            g, n->attr, tutti_mul(g, scale, tutti_mul(g, p, tutti_sub(g, v, pv))), n->in[0]);
    return TUTTI_OK;
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 1, NULL, grad_run, NULL};

/* ---- both at once: the gradient, then the loss, of the gradient's operands ---- */

enum { LOSS = 1 };

static tutti_status and_grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_status s = check("softmax_cross_entropy_and_grad", c, err);
    if (s)
        return s;
    out[0] = c->in[0];
    out[LOSS] = loss_of(&c->in[0]);
    return op_want_same("softmax_cross_entropy_and_grad", "dloss", &c->in[2], "the loss",
                        &out[LOSS], err);
}

static tutti_status and_grad_reference(const tutti_op_call *c, const double *const *in,
                                       double *const *out)
{
    const tutti_status s = reference(c, in, out + LOSS);
    return s ? s : grad_reference(c, in, out);
}

/* The loss first: the gradient may lie where the logits lie. */
static tutti_status and_grad_run(void *state, const tutti_op_call *c, const void *const *in,
                                 void *const *out, void *scratch)
{
    const tutti_status s = run(state, c, in, out + LOSS, scratch);
    const tutti_status t = grad_run(state, c, in, out, scratch);
    return s ? s : t;
}

static tutti_status and_grad_decompose(tutti_graph *g, const tutti_node *n,
                                       tutti_value *ret_out)
{
    const xent_attr *a = n->attr;
    const tutti_attr attr[2] = {tutti_attr_i("ignore_index", a->ignore_index),
                                tutti_attr_i("columns", a->columns)};
    ret_out[0] = emit_grad(g, a, n->in);
    ret_out[LOSS] = g->emit(g, "softmax_cross_entropy", n->in, 2, attr, 2, NULL, 0);
    return g->status(g);
}

static const tutti_kernel and_grad_cpu = {sizeof(tutti_kernel), 1, NULL, and_grad_run, NULL};

static const tutti_fusion fusions[] = {
    {TUTTI_FUSE_LOSS_GRAD, 0, "softmax_cross_entropy_and_grad"},
    {0, 0, NULL},
};
OP_PLAIN(softmax_cross_entropy, .fusions = fusions);
OP_DEFINE(softmax_cross_entropy, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 2, .nin_max = 2,
          OP_ATTR(xent_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &xent_cuda);
/* The gradient has the logits' dtype. */
OP_TRAITS(softmax_cross_entropy_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER,
          .fusions = fusions);
OP_DEFINE(softmax_cross_entropy_grad, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 3,
          .nin_max = 3, OP_ATTR(xent_attr, fields), .infer = grad_infer, .vjp = grad_vjp,
          .reference = grad_reference, .cpu = &grad_cpu, .cuda = &xent_grad_cuda);
OP_TRAITS(softmax_cross_entropy_and_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE,
          OTHER);
extern const tutti_op tutti_op_softmax_cross_entropy_and_grad;
const tutti_op tutti_op_softmax_cross_entropy_and_grad = {
    .struct_size = sizeof(tutti_op),
    .traits = &softmax_cross_entropy_and_grad_traits,
    .flags = TUTTI_OP_FUSED | TUTTI_OP_REPRODUCIBLE,
    .name = "softmax_cross_entropy_and_grad",
    .nin_min = 3,
    .nin_max = 3,
    .nout = 2,
    OP_ATTR(xent_attr, fields),
    .infer = and_grad_infer,
    .decompose = and_grad_decompose,
    .reference = and_grad_reference,
    .cpu = &and_grad_cpu,
    .cuda = &xent_and_grad_cuda};
