/* softmax_cross_entropy_op.c - cross entropy against classes or soft targets, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/rows.h"
#include "common/softmax.h"
#include "softmax_cross_entropy/softmax_cross_entropy_cuda.h"

#include <string.h>

/* logits (..., N), rank 2 or more, such as (B, N) or (B, T, N); each row is a b below.  target: classes
 * (...) in i32 or i64, or weights (..., N) f32, which need not sum to 1.  The loss is (...).
 * loss_b = sum_n t_bn (log sum_m exp(z_bm) - z_bn)
 * dz_bn = dloss_b (softmax(z)_bn sum_m t_bm - t_bn), dt_bn = dloss_b (lse_b - z_bn)
 * A row whose class is `ignore_index` has neither loss nor gradient.  With `columns` N is that and not the rows'
 * length: what lies behind is not read and has no gradient. */
typedef struct xent_attr {
    int64_t ignore_index; /* -100 is PyTorch's */
    int64_t columns;      /* 0: all */
} xent_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(xent_attr, ignore_index, -100),
                                          OP_FIELD_I64(xent_attr, columns, 0)};

static int64_t row_count(const tutti_desc *z)
{
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < z->rank; k++)
        rows *= z->dim[k];
    return rows;
}

/* From one row of logits to the next. */
static int64_t pitch_of(const tutti_desc *z)
{
    return z->dim[z->rank - 1];
}

static int64_t classes_of(const tutti_op_call *c)
{
    const int64_t columns = ((const xent_attr *)c->attr)->columns;
    return columns ? columns : pitch_of(&c->in[0]);
}

/* The loss of logits z: a number a row. */
static tutti_desc loss_of(const tutti_desc *z)
{
    tutti_desc d = *z;
    d.dim[--d.rank] = 0;
    d.dtype = TUTTI_F32;
    return d;
}

/* Whether the targets are weights. */
static int is_soft(const tutti_op_call *c)
{
    return !op_is_index(c->in[1].dtype);
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
    if (columns < 0 || columns > pitch_of(z))
        return tutti_fail(
            err, TUTTI_E_RANGE, "%s: columns is %lld, want 0 to %lld, of logits %s", op,
            (long long)columns, (long long)pitch_of(z), tutti_desc_text(z, tz, sizeof tz));
    tutti_desc counted = *z;
    counted.dim[counted.rank - 1] = classes_of(c);
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
    const int64_t batch = row_count(&c->in[0]), n = classes_of(c), pitch = pitch_of(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * pitch, lse = softmax_log_sum_f64(z, 1, n);
        double loss = 0.0;
        if (!is_soft(c)) {
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
    const int64_t batch = row_count(&c->in[0]), n = classes_of(c), pitch = pitch_of(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    const float *logits = in[0];
    float *loss = out[0];
    int bad = 0;
    const int soft = is_soft(c);
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
    const int64_t batch = row_count(&c->in[0]), n = classes_of(c), pitch = pitch_of(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    for (int64_t b = 0; b < batch; b++) {
        const double *z = in[0] + b * pitch, lse = softmax_log_sum_f64(z, 1, n), d = in[2][b];
        double total = 1.0;
        const int none = !is_soft(c) && in[1][b] == (double)ignored;
        if (is_soft(c)) {
            total = 0.0;
            for (int64_t k = 0; k < n; k++)
                total += in[1][b * n + k];
        } else if (!none && (in[1][b] < 0 || in[1][b] >= (double)n))
            return TUTTI_E_RANGE;
        for (int64_t k = 0; k < n; k++) {
            const double t = is_soft(c) ? in[1][b * n + k] : (double)(in[1][b] == (double)k);
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
    const int64_t batch = row_count(&c->in[0]), n = classes_of(c), pitch = pitch_of(&c->in[0]);
    const int64_t ignored = ((const xent_attr *)c->attr)->ignore_index;
    const float *logits = in[0], *dloss = in[2];
    float *dlogits = out[0];
    int bad = 0;
    const int soft = is_soft(c);
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

/* The device functions take a struct alone; the function is the state. */
static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "softmax_cross_entropy_rows", ret_state, err,
                         sizeof(xent_cuda_args));
}

/* Of a row that a block keeps; 0: none does. */
static uint32_t kept_bytes(const tutti_op_call *c)
{
    const int64_t n = classes_of(c);
    const uint64_t bytes = (uint64_t)n * tutti_dtype_size(c->in[0].dtype);
    const uint64_t most =
        c->cuda->shared_bytes < XENT_KEPT_MOST ? c->cuda->shared_bytes : XENT_KEPT_MOST;
    return cuda_row_is_whole(n) && bytes <= most ? (uint32_t)bytes : 0;
}

static tutti_status grad_cuda_prepare(const tutti_op_call *c, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c,
                         kept_bytes(c) ? "softmax_cross_entropy_grad_kept"
                                       : "softmax_cross_entropy_grad_rows",
                         ret_state, err, sizeof(xent_cuda_args));
}

static xent_cuda_args args_of(const tutti_op_call *c, const void *const *in, void *const *out)
{
    const int64_t n = classes_of(c);
    return (xent_cuda_args){.logits = cuda_in(c, in, 0),
                            .target = cuda_in(c, in, 1),
                            .out = cuda_out(c, out, 0),
                            .rows = row_count(&c->in[0]),
                            .n = n,
                            .pitch = pitch_of(&c->in[0]),
                            .ignored = ((const xent_attr *)c->attr)->ignore_index,
                            .fault = c->cuda->fault,
                            .mark = c->cuda->mark,
                            .soft = is_soft(c),
                            .whole = cuda_row_is_whole(n)};
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)scratch;
    xent_cuda_args a = args_of(c, in, out);
    return tutti_numel(&c->out[0]) == 0
               ? TUTTI_OK
               : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             CUDA_BLOCK, 0, (void *const[]){&a});
}

static tutti_status grad_cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    (void)scratch;
    xent_cuda_args a = args_of(c, in, out);
    a.dloss = cuda_in(c, in, 2);
    return tutti_numel(&c->out[0]) == 0
               ? TUTTI_OK
               : cuda_launch(c->cuda, state, cuda_row_blocks(c->cuda, a.rows, a.whole),
                             a.whole ? XENT_GRAD_BLOCK : CUDA_BLOCK, kept_bytes(c),
                             (void *const[]){&a});
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};
static const tutti_kernel grad_cuda = {sizeof(tutti_kernel), 1, grad_cuda_prepare,
                                       grad_cuda_run, NULL};

OP_PLAIN(softmax_cross_entropy);
OP_DEFINE(softmax_cross_entropy, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 2, .nin_max = 2,
          OP_ATTR(xent_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
/* The gradient has the logits' dtype. */
OP_TRAITS(softmax_cross_entropy_grad, KEEP, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER);
OP_DEFINE(softmax_cross_entropy_grad, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 3,
          .nin_max = 3, OP_ATTR(xent_attr, fields), .infer = grad_infer, .vjp = grad_vjp,
          .reference = grad_reference, .cpu = &grad_cpu, .cuda = &grad_cuda);
