/* pad_op.c - elements added around x. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/window.h"
#include "common/onnx.h"
#include "common/strided.h"

/* before, after: elements of `value` added at each end of every axis.  Other dtypes than F32 and F64
 * are padded with zeros. */
typedef struct pad_attr {
    tutti_list before;
    tutti_list after;
    double value;
} pad_attr;

static const tutti_attr_field pad_fields[] = {OP_FIELD_LIST(pad_attr, before),
                                              OP_FIELD_LIST(pad_attr, after),
                                              OP_FIELD_F64(pad_attr, value, 0.0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const pad_attr *a = c->attr;
    const int32_t dtype = c->in[0].dtype;
    char text[96];
    *out = c->in[0];
    if (dtype != TUTTI_F32 && dtype != TUTTI_F64 && a->value != 0.0)
        return tutti_fail(err, TUTTI_E_ARG, "pad: x is %s, which can only be padded with 0",
                          tutti_desc_text(&c->in[0], text, sizeof text));
    if (a->before.n != out->rank || a->after.n != out->rank)
        return tutti_fail(err, TUTTI_E_ARG,
                          "pad: before and after have %lld and %lld entries, want %d",
                          (long long)a->before.n, (long long)a->after.n, out->rank);
    for (int32_t k = 0; k < out->rank; k++) {
        if (a->before.v[k] < 0 || a->after.v[k] < 0)
            return tutti_fail(err, TUTTI_E_RANGE,
                              "pad: a negative number of elements on axis %d", k);
        out->dim[k] += a->before.v[k] + a->after.v[k];
    }
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    const pad_attr *a = c->attr;
    const strided y = strided_dense(&c->out[0]);
    strided v = strided_dense(&c->in[0]);
    for (int32_t k = 0; k < v.rank; k++) {
        v.stride[k] = y.stride[k];
        v.offset += y.stride[k] * a->before.v[k];
    }
    return v;
}

/* The value repeated over all of y, then x put into its place. */
static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    const double wide = ((const pad_attr *)c->attr)->value;
    const float narrow = (float)wide;
    const strided v = view(c);
    strided fill = strided_dense(&c->out[0]);
    memset(fill.stride, 0, sizeof fill.stride);
    if (wide == 0.0 || size == sizeof wide)
        strided_copy(c, &fill, &wide, out[0], 0, size);
    else
        strided_copy(c, &fill, &narrow, out[0], 0, size);
    strided_copy(c, &v, in[0], out[0], 1, size);
    return TUTTI_OK;
}

STRIDED_KERNEL(move)

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return cuda_window_prepare(c, "pad_cuda", ret_state, err);
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const pad_attr *a = c->attr;
    (void)scratch;
    cuda_window w = cuda_window_of(c, a->before.v, NULL, a->value);
    return cuda_window_run(state, c, &w, in, out);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const pad_attr *a = n->attr;
    const tutti_desc x = *g->desc(g, n->in[0]);
    int64_t end[TUTTI_MAX_RANK] = {0};
    for (int32_t k = 0; k < x.rank; k++)
        end[k] = a->before.v[k] + x.dim[k];
    const tutti_attr attr[2] = {tutti_attr_list("begin", a->before.v, (uint32_t)x.rank),
                                tutti_attr_list("end", end, (uint32_t)x.rank)};
    if (n->need & 1)
        dx[0] = g->emit(g, "slice", &dy[0], 1, attr, 2, NULL, 0);
    return TUTTI_OK;
}

static tutti_value pad_onnx(const tutti_onnx *o)
{
    const pad_attr *a = o->call->attr;
    const int32_t rank = o->call->in[0].rank;
    int64_t pads[2 * TUTTI_MAX_RANK] = {0};
    for (int32_t k = 0; k < rank; k++) {
        pads[k] = a->before.v[k];
        pads[rank + k] = a->after.v[k];
    }
    const tutti_value in[3] = {o->in[0], onnx_list(o, pads, 2 * (int64_t)rank),
                               onnx_number(o, a->value)};
    return onnx_op(o, "Pad", in, 3, NULL, 0);
}

OP_TRAITS(pad, KEEP, WHOLE, CONSTANTS, SAME, UNCOUNTED, NONE, OTHER, .onnx = pad_onnx);
OP_DEFINE(pad, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(pad_attr, pad_fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
