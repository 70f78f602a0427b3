/* where_op.c - a where a condition holds, else b; broadcast, of any dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/vector_copy.h"
#include "common/elementwise.h"
#include "common/onnx.h"
#include "common/strided.h"

/* c: F32, U8 or BOOL, where 0 chooses b; a and b of one dtype. */
static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *in = c->in;
    tutti_desc ab;
    char ta[96], tb[96];
    tutti_status s;
    if (in[0].dtype != TUTTI_F32 && in[0].dtype != TUTTI_U8 && in[0].dtype != TUTTI_BOOL)
        return tutti_fail(err, TUTTI_E_ARG, "where: c is %s, want F32, U8 or BOOL",
                          tutti_desc_text(&in[0], ta, sizeof ta));
    if (in[1].dtype != in[2].dtype)
        return tutti_fail(err, TUTTI_E_ARG, "where: a is %s and b is %s, want one dtype",
                          tutti_desc_text(&in[1], ta, sizeof ta),
                          tutti_desc_text(&in[2], tb, sizeof tb));
    if ((s = broadcast_shape("where", &in[1], &in[2], &ab, err)))
        return s;
    if (broadcast_shape("where", &in[0], &ab, out, NULL))
        return tutti_fail(
            err, TUTTI_E_SHAPE, "where: c is %s and a with b is %s, which do not broadcast",
            tutti_desc_text(&in[0], ta, sizeof ta), tutti_desc_text(&ab, tb, sizeof tb));
    out->dtype = in[1].dtype;
    return TUTTI_OK;
}

/* The inputs as views in the shape of the output, dimensions merged where all three agree. */
typedef struct where_iter {
    strided in[3];
    int64_t rows;
    int64_t n;
    int64_t step[3];
} where_iter;

static where_iter iter(const tutti_op_call *c)
{
    const tutti_desc *y = &c->out[0];
    int64_t stride[3][TUTTI_MAX_RANK];
    where_iter w = {.rows = 1};
    int32_t rank = 0;
    for (int j = 0; j < 3; j++)
        broadcast_strides(&c->in[j], y, stride[j]);
    for (int32_t k = 0; k < y->rank; k++) {
        int merge = rank > 0;
        if (y->dim[k] == 1)
            continue;
        for (int j = 0; j < 3; j++)
            merge = merge && w.in[j].stride[rank - 1] == stride[j][k] * y->dim[k];
        const int64_t before = merge ? w.in[0].dim[--rank] : 1;
        for (int j = 0; j < 3; j++) {
            w.in[j].dim[rank] = before * y->dim[k];
            w.in[j].stride[rank] = stride[j][k];
        }
        rank++;
    }
    w.n = rank ? w.in[0].dim[rank - 1] : 1;
    for (int32_t k = 0; k + 1 < rank; k++)
        w.rows *= w.in[0].dim[k];
    for (int j = 0; j < 3; j++) {
        w.in[j].rank = rank;
        w.step[j] = rank ? w.in[j].stride[rank - 1] : 0;
    }
    return w;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const where_iter w = iter(c);
    for (int64_t r = 0; r < w.rows; r++)
        for (int64_t i = 0; i < w.n; i++) {
            const int k = in[0][strided_row(&w.in[0], r) + i * w.step[0]] != 0.0 ? 1 : 2;
            out[0][r * w.n + i] = in[k][strided_row(&w.in[k], r) + i * w.step[k]];
        }
    return TUTTI_OK;
}

#define WHERE(c_, a_, b_)                                                                      \
    OP_LOOP for (int64_t i = 0; i < n; i++)                                                    \
    {                                                                                          \
        y[i] = (c_) != 0.0f ? (a_) : (b_);                                                     \
    }

/* One row of f32 under an f32 condition: what gradients and masks are. */
static void row_f32(const float *c, const float *a, const float *b, const int64_t step[3],
                    float *y, int64_t n)
{
    const float a0 = *a, b0 = *b;
    if (step[0] && step[1] && step[2])
        WHERE(c[i], a[i], b[i])
    else if (step[0] && step[1])
        WHERE(c[i], a[i], b0)
    else if (step[0] && step[2])
        WHERE(c[i], a0, b[i])
    else
        WHERE(c[i * step[0]], a[i * step[1]], b[i * step[2]])
}

static void row_any(const int64_t step[3], const char *const *at, int condition_f32, char *y,
                    uint64_t size, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t ic = i * step[0];
        const int holds =
            condition_f32 ? ((const float *)(const void *)at[0])[ic] != 0.0f : at[0][ic] != 0;
        const int k = holds ? 1 : 2;
        memcpy(y + (uint64_t)i * size, at[k] + i * step[k] * (int64_t)size, size);
    }
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const where_iter w = iter(c);
    const uint64_t size[3] = {tutti_dtype_size(c->in[0].dtype),
                              tutti_dtype_size(c->in[1].dtype),
                              tutti_dtype_size(c->in[2].dtype)};
    const int all_f32 = size[0] == 4 && size[1] == 4;
    const int threads = op_threads(c, w.rows * w.n * (all_f32 ? 1 : 4));
    if (w.n == 0)
        return TUTTI_OK;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        /* few rows: a part of each; many: some of them */
        int64_t first = w.rows * t / threads, end = w.rows * (t + 1) / threads, from = 0;
        const int64_t count = w.rows < threads ? op_chunk(w.n, t, threads, &from) : w.n;
        if (w.rows < threads) {
            first = 0;
            end = count > 0 ? w.rows : 0;
        }
        for (int64_t r = first; r < end; r++) {
            const char *at[3];
            char *y = (char *)out[0] + (uint64_t)(r * w.n + from) * size[1];
            for (int k = 0; k < 3; k++)
                at[k] = (const char *)in[k] +
                        (strided_row(&w.in[k], r) + from * w.step[k]) * (int64_t)size[k];
            if (all_f32)
                row_f32((const float *)(const void *)at[0], (const float *)(const void *)at[1],
                        (const float *)(const void *)at[2], w.step, (float *)(void *)y, count);
            else
                row_any(w.step, at, size[0] == 4, y, size[1], count);
        }
    }
    return TUTTI_OK;
}

/* da = dy where c holds, else 0; db the other way round. */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_value zero = op_scalar(g, 0.0);
    const tutti_value a[3] = {n->in[0], dy[0], zero}, b[3] = {n->in[0], zero, dy[0]};
    if (n->need & 2)
        dx[1] = op_sum_to(g, g->emit(g, "where", a, 3, NULL, 0, NULL, 0), n->in[1]);
    if (n->need & 4)
        dx[2] = op_sum_to(g, g->emit(g, "where", b, 3, NULL, 0, NULL, 0), n->in[2]);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 6, NULL, run, NULL};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "where_cuda", ret_state, err, sizeof(cuda_index_iter),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(int32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    cuda_index_iter w = cuda_index_iter_inputs(c);
    cuda_tensor x[3] = {cuda_in(c, in, 0), cuda_in(c, in, 1), cuda_in(c, in, 2)};
    cuda_tensor y = cuda_out(c, out, 0);
    /* as they are, unless a or b is to be converted */
    cuda_vector_copy unit =
        cuda_vector_copy_of(x[1].dtype == y.dtype ? x[2].dtype : x[1].dtype, y.dtype, 1);
    void *const args[] = {&w, &x[0], &x[1], &x[2], &y, &unit.kind};
    (void)scratch;
    if (w.n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, w.n), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {sizeof(tutti_kernel), 6, cuda_prepare, cuda_run, NULL};

static tutti_value where_onnx(const tutti_onnx *o)
{
    const int truth = o->call->in[0].dtype == TUTTI_BOOL;
    const tutti_value in[3] = {truth ? o->in[0] : onnx_cast(o, o->in[0], TUTTI_BOOL), o->in[1],
                               o->in[2]};
    return onnx_op(o, "Where", in, 3, NULL, 0);
}

OP_POINTWISE(where, WIDEST, .onnx = where_onnx);
OP_DEFINE(where, .flags = TUTTI_OP_ELEMENTWISE | TUTTI_OP_REPRODUCIBLE, .nin_min = 3,
          .nin_max = 3, .infer = infer, .vjp = vjp, .reference = reference, .cpu = &cpu,
          .cuda = &cuda);
