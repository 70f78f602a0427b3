/* slice_op.c - a part of every axis, with strides, and its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.h"
#include "common/cuda/window.h"
#include "common/onnx.h"
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

static strided cut_view(const slice_attr *a, const tutti_desc *whole, const tutti_desc *part)
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

static strided view(const tutti_op_call *c)
{
    return cut_view(c->attr, &c->in[0], &c->out[0]);
}

static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, size);
    return TUTTI_OK;
}

STRIDED_KERNEL(move)
CUDA_STRIDED_KERNEL(slice, view)

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

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const slice_attr *a = c->attr;
    tutti_desc part;
    memset(out, 0, sizeof *out);
    out->rank = (int32_t)a->shape.n;
    out->dtype = c->in[0].dtype;
    memcpy(out->dim, a->shape.v, (size_t)a->shape.n * sizeof *out->dim);
    const tutti_status s = cut("slice_grad", a, out, &part, err);
    return s ? s : op_want_same("slice_grad", "dy", &c->in[0], "the slice", &part, err);
}

static tutti_status grad_move(const tutti_op_call *c, const void *const *in, void *const *out,
                              uint64_t size)
{
    const strided v = cut_view(c->attr, &c->out[0], &c->in[0]);
    memset(out[0], 0, (size_t)tutti_numel(&c->out[0]) * size);
    strided_copy(c, &v, in[0], out[0], 1, size);
    return TUTTI_OK;
}

STRIDED_KERNEL_AS(grad_, grad_move)

static tutti_status grad_cuda_prepare(const tutti_op_call *c, void **ret_state,
                                      uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return cuda_window_prepare(c, "slice_grad_cuda", ret_state, err);
}

static tutti_status grad_cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                                  void *const *out, void *scratch)
{
    const slice_attr *a = c->attr;
    int64_t steps[TUTTI_MAX_RANK];
    (void)scratch;
    for (int32_t k = 0; k < TUTTI_MAX_RANK; k++)
        steps[k] = step(a, k);
    cuda_window w = cuda_window_of(c, a->begin.v, steps, 0.0);
    return cuda_window_run(state, c, &w, in, out);
}

static const tutti_kernel grad_cuda = {sizeof(tutti_kernel), 0, grad_cuda_prepare,
                                       grad_cuda_run, NULL};

static tutti_status grad_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const tutti_desc whole = *g->desc(g, n->out[0]);
    if (n->need & 1)
        dx[0] = emit_like(g, "slice", n->attr, dy[0], &whole);
    return TUTTI_OK;
}

static tutti_value slice_onnx(const tutti_onnx *o)
{
    const slice_attr *a = o->call->attr;
    const tutti_desc *x = &o->call->in[0];
    int64_t begin[TUTTI_MAX_RANK], end[TUTTI_MAX_RANK], steps[TUTTI_MAX_RANK];
    int64_t axes[TUTTI_MAX_RANK], count = 0;
    for (int32_t k = 0; k < x->rank; k++) {
        if (a->begin.v[k] == 0 && a->end.v[k] == x->dim[k] && step(a, k) == 1)
            continue; /* all of it, however long it is */
        begin[count] = a->begin.v[k];
        end[count] = a->end.v[k];
        steps[count] = step(a, k);
        axes[count++] = k;
    }
    const tutti_value in[5] = {o->in[0], onnx_list(o, begin, count), onnx_list(o, end, count),
                               onnx_list(o, axes, count), onnx_list(o, steps, count)};
    return onnx_op(o, "Slice", in, 5, NULL, 0);
}

OP_PLAIN(slice, .onnx = slice_onnx);
OP_DEFINE(slice, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(slice_attr, slice_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);

OP_PLAIN(slice_grad);
OP_DEFINE(slice_grad, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(slice_attr, slice_fields), .infer = grad_infer, .vjp = grad_vjp,
          .reference = grad_reference, .cpu = &grad_cpu, .cuda = &grad_cuda);
