/* slice_op.c - a part of every axis, with strides, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strided.h"

/* Along axis k: begin, begin + stride ... below end.  Missing strides are 1.  slice_grad puts dy back
 * into zeros of shape `shape`. */
typedef struct slice_attr {
    tutti_list begin;
    tutti_list end;
    tutti_list stride;
    tutti_list shape; /* slice_grad only */
} slice_attr;

static const tutti_attr_field slice_fields[] = {
    OP_FIELD_LIST(slice_attr, begin), OP_FIELD_LIST(slice_attr, end),
    OP_FIELD_LIST(slice_attr, stride), OP_FIELD_LIST(slice_attr, shape)};

static int64_t step(const slice_attr *a, int32_t k)
{
    return k < a->stride.n ? a->stride.v[k] : 1;
}

/* The slice of a tensor `whole`: its shape in *ret. */
static tutti_status cut(const char *op, const slice_attr *a, const tutti_desc *whole,
                        tutti_desc *ret, tutti_error *err)
{
    *ret = *whole;
    if (a->begin.n != whole->rank || a->end.n != whole->rank)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: begin and end have %lld and %lld entries, want %d", op,
                          (long long)a->begin.n, (long long)a->end.n, whole->rank);
    for (int32_t k = 0; k < whole->rank; k++) {
        const int64_t b = a->begin.v[k], e = a->end.v[k], s = step(a, k);
        if (b < 0 || e < b || e > whole->dim[k] || s < 1)
            return tutti_fail(
                err, TUTTI_E_RANGE, "%s: %lld to %lld by %lld on axis %d, which has %lld", op,
                (long long)b, (long long)e, (long long)s, k, (long long)whole->dim[k]);
        ret->dim[k] = (e - b + s - 1) / s;
    }
    return TUTTI_OK;
}

static strided view(const slice_attr *a, const tutti_desc *whole, const tutti_desc *part)
{
    const strided w = strided_dense(whole);
    strided v = strided_dense(part);
    for (int32_t k = 0; k < v.rank; k++) {
        v.stride[k] = w.stride[k] * step(a, k);
        v.offset += w.stride[k] * a->begin.v[k];
    }
    return v;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return cut("slice", c->attr, &c->in[0], out, err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const strided v = view(c->attr, &c->in[0], &c->out[0]);
    strided_copy(c, &v, in[0], out[0], 0, sizeof(double));
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const strided v = view(c->attr, &c->in[0], &c->out[0]);
    strided_copy(c, &v, in[0], out[0], 0, tutti_dtype_size(c->in[0].dtype));
    return TUTTI_OK;
}

/* The same cut, forth (slice) or back (slice_grad). */
static tutti_value emit_like(tutti_graph *g, const char *op, const slice_attr *a, tutti_value v,
                             const tutti_desc *whole)
{
    const tutti_attr attr[4] = {tutti_attr_list("begin", a->begin.v, (uint32_t)a->begin.n),
                                tutti_attr_list("end", a->end.v, (uint32_t)a->end.n),
                                tutti_attr_list("stride", a->stride.v, (uint32_t)a->stride.n),
                                tutti_attr_list("shape", whole->dim, (uint32_t)whole->rank)};
    return g->emit(g, op, &v, 1, attr, 4, NULL, 0);
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_desc whole = *g->desc(g, n->in[0]);
    if (n->need & 1)
        dx[0] = emit_like(g, "slice_grad", n->attr, dy[0], &whole);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const slice_attr *a = c->attr;
    tutti_desc part;
    memset(out, 0, sizeof *out);
    out->rank = (int32_t)a->shape.n;
    out->dtype = c->in[0].dtype;
    memcpy(out->dim, a->shape.v, sizeof out->dim);
    const tutti_status s = cut("slice_grad", a, out, &part, err);
    return s ? s : op_want_same("slice_grad", "dy", &c->in[0], "the slice", &part, err);
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    const strided v = view(c->attr, &c->out[0], &c->in[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++)
        out[0][i] = 0.0;
    strided_copy(c, &v, in[0], out[0], 1, sizeof(double));
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const strided v = view(c->attr, &c->out[0], &c->in[0]);
    memset(out[0], 0, tutti_nbytes(&c->out[0]));
    strided_copy(c, &v, in[0], out[0], 1, tutti_dtype_size(c->in[0].dtype));
    return TUTTI_OK;
}

static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const tutti_desc whole = *g->desc(g, n->out[0]);
    if (n->need & 1)
        dx[0] = emit_like(g, "slice", n->attr, dy[0], &whole);
    return TUTTI_OK;
}

static const tutti_kernel grad_cpu = {sizeof(tutti_kernel), 0, NULL, grad_run, NULL};

extern const tutti_op tutti_op_slice;
const tutti_op tutti_op_slice = {.struct_size = sizeof(tutti_op),
                                 .flags = 0,
                                 .name = "slice",
                                 .nin_min = 1,
                                 .nin_max = 1,
                                 .nout = 1,
                                 .attr_size = sizeof(slice_attr),
                                 .fields = slice_fields,
                                 .nfields = sizeof slice_fields / sizeof *slice_fields,
                                 .infer = infer,
                                 .vjp = vjp,
                                 .reference = reference,
                                 .cpu = &cpu};

extern const tutti_op tutti_op_slice_grad;
const tutti_op tutti_op_slice_grad = {.struct_size = sizeof(tutti_op),
                                      .flags = 0,
                                      .name = "slice_grad",
                                      .nin_min = 1,
                                      .nin_max = 1,
                                      .nout = 1,
                                      .attr_size = sizeof(slice_attr),
                                      .fields = slice_fields,
                                      .nfields = sizeof slice_fields / sizeof *slice_fields,
                                      .infer = grad_infer,
                                      .vjp = grad_vjp,
                                      .reference = grad_reference,
                                      .cpu = &grad_cpu};
