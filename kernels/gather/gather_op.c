/* gather_op.c - gather: the slices of x along an axis that an index names, as an embedding's look-up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/axis.h"
#include "common/cuda/index_iter.h"
#include "common/cuda/launch.h"
#include "common/cuda/vector_copy.h"
#include "common/onnx.h"

#include <string.h>

/* x (before, n, after), index (...) of I32 or I64 -> (before, ..., after); axis -1 is the last.  An
 * entry outside [0, n) is E_RANGE. */
typedef struct gather_attr {
    int64_t axis;
} gather_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(gather_attr, axis, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *x = &c->in[0], *index = &c->in[1];
    int32_t axis = 0;
    tutti_status s;
    if ((s = op_want_index("gather", "index", index, err)) ||
        (s = op_axis("gather", ((const gather_attr *)c->attr)->axis, x->rank, &axis, err)))
        return s;
    if (x->rank + index->rank - 1 > TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_SHAPE, "gather: the result has rank %d, want %d at most",
                          x->rank + index->rank - 1, TUTTI_MAX_RANK);
    *out = (tutti_desc){{0}, 0, x->dtype};
    for (int32_t k = 0; k < axis; k++)
        out->dim[out->rank++] = x->dim[k];
    for (int32_t k = 0; k < index->rank; k++)
        out->dim[out->rank++] = index->dim[k];
    for (int32_t k = axis + 1; k < x->rank; k++)
        out->dim[out->rank++] = x->dim[k];
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const axis_view v = axis_of(&c->in[0], ((const gather_attr *)c->attr)->axis);
    const int64_t count = tutti_numel(&c->in[1]);
    for (int64_t i = 0; i < tutti_numel(&c->out[0]); i++) {
        const double k = in[1][i / v.inner % count];
        if (k < 0 || k >= (double)v.n)
            return TUTTI_E_RANGE;
        const int64_t o = i / v.inner / count;
        out[0][i] = in[0][(o * v.n + (int64_t)k) * v.inner + i % v.inner];
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const axis_view v = axis_of(&c->in[0], ((const gather_attr *)c->attr)->axis);
    const int64_t count = tutti_numel(&c->in[1]), rows = v.outer * count;
    const size_t bytes = (size_t)v.inner * tutti_dtype_size(c->in[0].dtype);
    const int threads = op_threads(c, tutti_numel(&c->out[0]));
    const char *x = in[0];
    char *y = out[0];
    int bad = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int64_t i = 0; i < rows; i++) {
        const int64_t k = op_index_at(in[1], c->in[1].dtype, i % count);
        if (k < 0 || k >= v.n)
            bad = 1;
        else
            memcpy(y + (size_t)i * bytes, x + (size_t)(i / count * v.n + k) * bytes, bytes);
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_desc x = *g->desc(g, n->in[0]);
    const tutti_attr axis = tutti_attr_i("axis", ((const gather_attr *)n->attr)->axis);
    if (n->need & 1) {
        const tutti_value zeros = op_broadcast_dims(g, op_scalar(g, 0.0), x.dim, x.rank);
        const tutti_value in[3] = {zeros, n->in[1], dy[0]};
        dx[0] = g->emit(g, "scatter_add", in, 3, &axis, 1, NULL, 0);
    }
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "gather_cuda", ret_state, err, sizeof(cuda_index_iter),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(int64_t), sizeof(int64_t), sizeof(int32_t), sizeof(void *),
                         sizeof(uint32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    axis_view v = axis_of(&c->in[0], ((const gather_attr *)c->attr)->axis);
    cuda_tensor x = cuda_in(c, in, 0), index = cuda_in(c, in, 1), y = cuda_out(c, out, 0);
    cuda_vector_copy unit = cuda_vector_copy_of(x.dtype, y.dtype, v.inner);
    int64_t inner = v.inner / unit.elements;
    cuda_index_iter w = {.rank = 0}; /* x where the index is 0, the index */
    cuda_index_iter_add(&w, v.outer, (const int64_t[CUDA_ITER_OPERANDS]){v.n * inner, 0});
    cuda_index_iter_add(&w, tutti_numel(&c->in[1]), (const int64_t[CUDA_ITER_OPERANDS]){0, 1});
    cuda_index_iter_add(&w, inner, (const int64_t[CUDA_ITER_OPERANDS]){1, 0});
    cuda_index_iter_end(&w);
    uint32_t *fault = c->cuda->fault, mark = c->cuda->mark;
    void *const args[] = {&w, &x, &index, &y, &v.n, &inner, &unit.kind, &fault, &mark};
    (void)scratch;
    if (w.n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, w.n), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_value gather_onnx(const tutti_onnx *o)
{
    return onnx_along(o, "Gather", ((const gather_attr *)o->call->attr)->axis);
}

OP_PLAIN(gather, .onnx = gather_onnx);
OP_DEFINE(gather, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 2, .nin_max = 2,
          OP_ATTR(gather_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &cuda);
