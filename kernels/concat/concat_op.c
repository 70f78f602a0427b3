/* concat_op.c - concatenation of inputs along an axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axis.h"
#include "common/cuda/strided.h"
#include "common/half_rows.h"
#include "common/onnx.h"
#include "common/strided.h"

typedef struct concat_attr {
    int64_t axis; /* negative: from the end */
} concat_attr;

static const tutti_attr_field concat_fields[] = {OP_FIELD_I64(concat_attr, axis, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const concat_attr *a = c->attr;
    char tx[96], ty[96];
    *out = c->in[0];
    int32_t axis = 0;
    const tutti_status s = op_axis("concat", a->axis, out->rank, &axis, err);
    if (s)
        return s;
    for (uint32_t j = 1; j < c->nin; j++) {
        tutti_desc d = c->in[j];
        d.dim[axis] = c->in[0].dim[axis];
        if (!tutti_same_shape(&d, &c->in[0]) || d.dtype != out->dtype)
            return tutti_fail(err, TUTTI_E_SHAPE, "concat: input %u is %s, input 0 is %s", j,
                              tutti_desc_text(&c->in[j], tx, sizeof tx),
                              tutti_desc_text(&c->in[0], ty, sizeof ty));
        out->dim[axis] += c->in[j].dim[axis];
    }
    return TUTTI_OK;
}

/* Where input j goes; *at: along the axis, moved on. */
static strided place(const tutti_op_call *c, uint32_t j, int64_t *at)
{
    const int32_t axis = axis_of(&c->in[0], ((const concat_attr *)c->attr)->axis).axis;
    const strided y = strided_dense(&c->out[0]);
    strided v = strided_dense(&c->in[j]);
    memcpy(v.stride, y.stride, sizeof v.stride);
    v.offset = *at * y.stride[axis];
    *at += c->in[j].dim[axis];
    return v;
}

static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    int64_t at = 0;
    for (uint32_t j = 0; j < c->nin; j++) {
        const strided v = place(c, j, &at);
        strided_copy(c, &v, in[j], out[0], 1, size);
    }
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    return move(c, (const void *const *)in, (void *const *)out, sizeof(double));
}

/* Operands of 16 bits beside those of F32. */
static int widens(const tutti_op_call *c, uint32_t j)
{
    return c->out[0].dtype == TUTTI_F32 && half_is(c->in[j].dtype);
}

static tutti_status prepare(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                            tutti_error *err)
{
    (void)ret_state, (void)ret_scratch, (void)err;
    for (uint32_t j = 0; j < c->nin; j++)
        if (c->in[j].dtype != c->out[0].dtype && !widens(c, j))
            return TUTTI_E_UNSUPPORTED; /* the host converts around it */
    return TUTTI_OK;
}

/* `x` of that description as F32 to `at` along the axis. */
static void widen(const tutti_op_call *c, const tutti_desc *x, int64_t at, const uint16_t *from,
                  float *y)
{
    const axis_view whole = axis_of(&c->out[0], ((const concat_attr *)c->attr)->axis);
    const int64_t row = x->dim[whole.axis] * whole.inner, n = whole.outer * row;
    const int threads = op_threads(c, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++)
        for (int64_t i = n * t / threads, end = n * (t + 1) / threads, some; i < end;
             i += some) {
            const int64_t k = i % row;
            some = row - k < end - i ? row - k : end - i;
            half_upcast(from + i, x->dtype, y + (i / row * whole.n + at) * whole.inner + k,
                        some);
        }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    int64_t at = 0;
    for (uint32_t j = 0; j < c->nin; j++) {
        const int64_t begin = at;
        const strided v = place(c, j, &at);
        if (widens(c, j))
            widen(c, &c->in[j], begin, in[j], out[0]);
        else
            strided_copy(c, &v, in[j], out[0], 1, tutti_dtype_size(c->out[0].dtype));
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, prepare, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return cuda_strided_prepare(c, "concat_cuda", ret_state, err);
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    int64_t at = 0;
    (void)scratch;
    for (uint32_t j = 0; j < c->nin; j++) {
        const strided v = place(c, j, &at);
        const tutti_status s =
            cuda_strided_copy(state, c, &v, cuda_in(c, in, j), cuda_out(c, out, 0), 1);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const int64_t asked = ((const concat_attr *)n->attr)->axis;
    const int32_t axis = axis_of(g->desc(g, n->in[0]), asked).axis;
    int64_t at = 0;
    for (uint32_t j = 0; j < n->nin; j++) {
        const tutti_desc x = *g->desc(g, n->in[j]);
        int64_t begin[TUTTI_MAX_RANK] = {0}, end[TUTTI_MAX_RANK];
        memcpy(end, x.dim, sizeof end);
        begin[axis] = at;
        end[axis] = at += x.dim[axis];
        const tutti_attr attr[2] = {tutti_attr_list("begin", begin, (uint32_t)x.rank),
                                    tutti_attr_list("end", end, (uint32_t)x.rank)};
        if (n->need >> j & 1)
            dx[j] = g->emit(g, "slice", &dy[0], 1, attr, 2, NULL, 0);
    }
    return TUTTI_OK;
}

static tutti_value concat_onnx(const tutti_onnx *o)
{
    return onnx_along(o, "Concat", ((const concat_attr *)o->call->attr)->axis);
}

OP_TRAITS(concat, WIDEST, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, .onnx = concat_onnx);
OP_DEFINE(concat, .flags = TUTTI_OP_BF16 | TUTTI_OP_REPRODUCIBLE, .nin_min = 1,
          .nin_max = TUTTI_OP_MAX_IN, OP_ATTR(concat_attr, concat_fields), .infer = infer,
          .vjp = vjp, .reference = reference, .cpu = &cpu, .cuda = &cuda);
