/* argmax_op.c - argmax: the index of the greatest element along an axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axis.h"
#include "common/cuda/launch.h"
#include "common/onnx.h"

/* The first of equals; a NaN counts as the greatest.  keepdim: the axis stays, with size 1. */
typedef struct argmax_attr {
    int64_t axis;
    int64_t keepdim;
} argmax_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(argmax_attr, axis, -1),
                                          OP_FIELD_I64(argmax_attr, keepdim, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const argmax_attr *a = c->attr;
    const tutti_desc *x = &c->in[0];
    int32_t axis = 0;
    char text[96];
    tutti_status s;
    if ((s = op_want_f32("argmax", "x", x, err)) ||
        (s = op_axis("argmax", a->axis, x->rank, &axis, err)))
        return s;
    if (x->dim[axis] == 0)
        return tutti_fail(err, TUTTI_E_SHAPE, "argmax: x is %s, which has nothing on axis %d",
                          tutti_desc_text(x, text, sizeof text), axis);
    *out = (tutti_desc){{0}, 0, TUTTI_I64};
    for (int32_t k = 0; k < x->rank; k++)
        if (k != axis || a->keepdim)
            out->dim[out->rank++] = k == axis ? 1 : x->dim[k];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const axis_view v = axis_of(&c->in[0], ((const argmax_attr *)c->attr)->axis);
    for (int64_t i = 0; i < v.outer * v.inner; i++) {
        const double *x = in[0] + i / v.inner * v.n * v.inner + i % v.inner;
        int64_t best = 0;
        for (int64_t k = 1; k < v.n; k++)
            if (x[k * v.inner] > x[best * v.inner])
                best = k;
        out[0][i] = (double)best;
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const axis_view v = axis_of(&c->in[0], ((const argmax_attr *)c->attr)->axis);
    const int threads = op_threads(c, tutti_numel(&c->in[0]));
    int64_t *y = out[0];
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < v.outer * v.inner; i++) {
        const float *x = (const float *)in[0] + i / v.inner * v.n * v.inner + i % v.inner;
        float best = x[0];
        int64_t at = 0;
        for (int64_t k = 1; k < v.n && best == best; k++)
            if (!(x[k * v.inner] <= best)) {
                best = x[k * v.inner];
                at = k;
            }
        y[i] = at;
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "argmax_cuda", ret_state, err, sizeof(cuda_tensor), sizeof(void *),
                         sizeof(int64_t), sizeof(int64_t), sizeof(int64_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    axis_view v = axis_of(&c->in[0], ((const argmax_attr *)c->attr)->axis);
    int64_t results = v.outer * v.inner;
    cuda_tensor x = cuda_in(c, in, 0);
    void *y = out[0], *const args[] = {&x, &y, &results, &v.n, &v.inner};
    (void)scratch;
    if (results == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, 32 * results), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_value argmax_onnx(const tutti_onnx *o)
{
    const argmax_attr *a = o->call->attr;
    const tutti_attr attr[2] = {tutti_attr_i("axis", a->axis),
                                tutti_attr_i("keepdims", a->keepdim)};
    return onnx_op(o, "ArgMax", o->in, 1, attr, 2);
}

OP_PLAIN(argmax, .onnx = argmax_onnx);
OP_DEFINE(argmax, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(argmax_attr, fields), .infer = infer, .vjp = op_no_gradient,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
