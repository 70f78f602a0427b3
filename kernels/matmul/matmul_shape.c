/* matmul_shape.c - which products fit together, what is said about those that do not, and the definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul.h"

/* The batch dimensions of `d` alone. */
static tutti_desc batch_dims_of(const tutti_desc *d)
{
    tutti_desc r = *d;
    r.rank = d->rank - 2;
    r.dim[r.rank] = r.dim[r.rank + 1] = 0;
    return r;
}

static int64_t rows_of(const tutti_desc *d, int64_t transposed)
{
    return d->dim[d->rank - (transposed ? 1 : 2)];
}

static int64_t cols_of(const tutti_desc *d, int64_t transposed)
{
    return d->dim[d->rank - (transposed ? 2 : 1)];
}

static tutti_status want_matrix(const char *op, const char *name, const tutti_desc *d,
                                tutti_error *err)
{
    char text[96];
    if (d->rank >= 2)
        return op_want_f32(op, name, d, err);
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, want rank 2 or more", op, name,
                      tutti_desc_text(d, text, sizeof text));
}

static tutti_status want_bias(const char *op, const tutti_desc *d, int64_t n, tutti_error *err)
{
    char text[96];
    if (d->rank != 1 || d->dim[0] != n)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: bias is %s, want (%lld)", op,
                          tutti_desc_text(d, text, sizeof text), (long long)n);
    return op_want_f32(op, "bias", d, err);
}

tutti_status matmul_infer(const char *op, const tutti_op_call *c, uint32_t nin, tutti_desc *out,
                          tutti_error *err)
{
    const matmul_attr *t = c->attr;
    const tutti_desc *a = &c->in[0], *b = &c->in[1];
    char ta[96], tb[96];
    tutti_status s = want_matrix(op, "a", a, err);
    if (!s)
        s = want_matrix(op, "b", b, err);
    if (s)
        return s;
    const int64_t m = rows_of(a, t->transpose_a), n = cols_of(b, t->transpose_b);
    const int64_t ka = cols_of(a, t->transpose_a), kb = rows_of(b, t->transpose_b);
    if (ka != kb)
        return tutti_fail(
            err, TUTTI_E_SHAPE, "%s: a is %s with %lld columns, b is %s with %lld rows%s", op,
            tutti_desc_text(a, ta, sizeof ta), (long long)ka, tutti_desc_text(b, tb, sizeof tb),
            (long long)kb, t->transpose_a || t->transpose_b ? ", as transposed" : "");
    const tutti_desc la = batch_dims_of(a), lb = batch_dims_of(b);
    tutti_desc y;
    s = broadcast_shape(op, &la, &lb, &y, NULL);
    if (s)
        return tutti_fail(
            err, s, "%s: a is %s and b is %s, whose batch dimensions do not broadcast", op,
            tutti_desc_text(a, ta, sizeof ta), tutti_desc_text(b, tb, sizeof tb));
    if (nin > 2 && (s = want_bias(op, &c->in[2], n, err)) != TUTTI_OK)
        return s;
    y.dim[y.rank++] = m;
    y.dim[y.rank++] = n;
    *out = y;
    return TUTTI_OK;
}

matmul_shape matmul_shape_of(const tutti_op_call *c)
{
    const matmul_attr *t = c->attr;
    const tutti_desc *a = &c->in[0], *b = &c->in[1];
    tutti_desc la = batch_dims_of(a), lb = batch_dims_of(b), ly = batch_dims_of(&c->out[0]);
    matmul_shape s = {.m = rows_of(a, t->transpose_a),
                      .n = cols_of(b, t->transpose_b),
                      .k = cols_of(a, t->transpose_a)};
    s.a_row = t->transpose_a ? 1 : s.k;
    s.a_col = t->transpose_a ? s.m : 1;
    s.b_row = t->transpose_b ? 1 : s.n;
    s.b_col = t->transpose_b ? s.k : 1;
    s.count = tutti_numel(&ly);
    if (!t->transpose_a && s.count > 1 && tutti_numel(&lb) == 1) {
        s.m *= s.count;
        s.count = 1;
        la.rank = lb.rank = ly.rank = 0;
    }
    s.batch_dims = broadcast_make(&la, &lb, &ly);
    return s;
}

void matmul_preactivation_f64(const tutti_op_call *c, uint32_t nin, const double *const *in,
                              double *z)
{
    const matmul_shape s = matmul_shape_of(c);
    for (int64_t p = 0; p < s.count; p++) {
        int64_t ia, ib;
        broadcast_at(&s.batch_dims, p, &ia, &ib);
        const double *a = in[0] + ia * s.m * s.k, *b = in[1] + ib * s.k * s.n;
        for (int64_t i = 0; i < s.m; i++) {
            for (int64_t j = 0; j < s.n; j++) {
                double sum = nin > 2 ? in[2][j] : 0.0;
                for (int64_t k = 0; k < s.k; k++)
                    sum += a[i * s.a_row + k * s.a_col] * b[k * s.b_row + j * s.b_col];
                z[(p * s.m + i) * s.n + j] = sum;
            }
        }
    }
}
