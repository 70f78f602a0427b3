/* permute_op.c - axes in another order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/strided.h"
#include "common/onnx.h"
#include "common/strided.h"
#include "permute/permute.h"

/* order: out dimension k is x's dimension order[k]. */
typedef struct permute_attr {
    tutti_list order;
} permute_attr;

static const tutti_attr_field permute_fields[] = {OP_FIELD_LIST(permute_attr, order)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const permute_attr *a = c->attr;
    char text[96];
    uint32_t seen = 0;
    *out = c->in[0];
    for (int64_t k = 0; k < a->order.n; k++)
        if (a->order.v[k] >= 0 && a->order.v[k] < c->in[0].rank) {
            seen |= 1u << a->order.v[k];
            out->dim[k] = c->in[0].dim[a->order.v[k]];
        }
    if (a->order.n != c->in[0].rank || seen != (1u << c->in[0].rank) - 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "permute: order does not name every axis of x, which is %s",
                          tutti_desc_text(&c->in[0], text, sizeof text));
    return TUTTI_OK;
}

static strided view(const tutti_op_call *c)
{
    const permute_attr *a = c->attr;
    const strided x = strided_dense(&c->in[0]);
    strided v = strided_dense(&c->out[0]);
    for (int32_t k = 0; k < v.rank; k++)
        v.stride[k] = x.stride[a->order.v[k]];
    return v;
}

static tutti_status move(const tutti_op_call *c, const void *const *in, void *const *out,
                         uint64_t size)
{
    const strided v = view(c);
    strided_copy(c, &v, in[0], out[0], 0, size);
    return TUTTI_OK;
}

STRIDED_KERNEL(move)

/* Whether it pays to read and write x in tiles, and which. */
static int tiles_of(const tutti_op_call *c, permute_tiles *ret)
{
    const strided all = view(c), v = strided_merged(&all);
    const int32_t last = v.rank - 1, side = strided_side(&v);
    int64_t y = 1;
    if (side == last || v.dim[last] < 8 || v.dim[side] < 8)
        return 0;
    *ret = (permute_tiles){
        .rows = v.dim[side], .columns = v.dim[last], .column_in_x = v.stride[last]};
    int64_t in_y[TUTTI_MAX_RANK];
    for (int32_t k = last; k >= 0; k--) {
        in_y[k] = y;
        y *= v.dim[k];
    }
    ret->row_in_y = in_y[side];
    for (int32_t k = 0; k < last; k++)
        if (k != side)
            cuda_index_iter_add(&ret->matrices, v.dim[k],
                                (const int64_t[CUDA_ITER_OPERANDS]){v.stride[k], in_y[k]});
    cuda_index_iter_end(&ret->matrices);
    return 1;
}

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    permute_tiles t;
    (void)ret_scratch;
    if (!tiles_of(c, &t))
        return cuda_strided_prepare(c, "permute_cuda", ret_state, err);
    return CUDA_FUNCTION(c, "permute_tiles_cuda", ret_state, err, sizeof(permute_tiles),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(int32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    cuda_tensor x = cuda_in(c, in, 0), y = cuda_out(c, out, 0);
    permute_tiles t;
    (void)scratch;
    if (!tiles_of(c, &t)) {
        const strided v = view(c);
        return cuda_strided_copy(state, c, &v, x, y, 0);
    }
    cuda_vector_copy unit = cuda_vector_copy_of(x.dtype, y.dtype, 1);
    void *const args[] = {&t, &x, &y, &unit.kind};
    if (t.matrices.n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, tutti_numel(&c->in[0]) / 4),
                       CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 0, cuda_prepare, cuda_run, NULL};

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const permute_attr *a = n->attr;
    int64_t back[TUTTI_MAX_RANK] = {0};
    for (int64_t k = 0; k < a->order.n; k++)
        back[a->order.v[k]] = k;
    if (n->need & 1)
        dx[0] = tutti_permute(g, dy[0], back, (uint32_t)a->order.n);
    return TUTTI_OK;
}

/* The order [0, 1, ...] moves nothing. */
static uint32_t permute_identity(const tutti_op_call *c, const void *const *constant)
{
    const permute_attr *a = c->attr;
    (void)constant;
    for (int64_t k = 0; k < a->order.n; k++)
        if (a->order.v[k] != k)
            return 0;
    return 1;
}

static tutti_value permute_onnx(const tutti_onnx *o)
{
    const permute_attr *a = o->call->attr;
    return onnx_transpose(o, o->in[0], a->order.v, (int32_t)a->order.n);
}

OP_TRAITS(permute, F32, WHOLE, IDENTITY, NEVER, UNCOUNTED, NONE, OTHER,
          .identity = permute_identity, .onnx = permute_onnx);
OP_DEFINE(permute, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 1, .nin_max = 1,
          OP_ATTR(permute_attr, permute_fields), .infer = infer, .vjp = vjp,
          .reference = reference, .cpu = &cpu, .cuda = &cuda);
