/* cache_write_op.c - cache_write, what fills a KV cache: rows of keys and values of new tokens are put there at a position. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/launch.h"
#include "common/op_util.h"

#include <string.h>

/* cache (B, N, ...), rows (B, T, ...), position I32 or I64 (one or more; the first counts) -> cache, with rows at
 * [position, position + T) of its second axis.  E_RANGE where that is not within [0, N).  Written where the cache
 * lies, it writes the rows alone. */
typedef struct cache_view {
    int64_t batch, n, t, inner;
} cache_view;

static cache_view cache_of(const tutti_op_call *c)
{
    const tutti_desc *x = &c->in[0];
    cache_view v = {x->dim[0], x->dim[1], c->in[1].dim[1], 1};
    for (int32_t k = 2; k < x->rank; k++)
        v.inner *= x->dim[k];
    return v;
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *x = &c->in[0], *rows = &c->in[1], *position = &c->in[2];
    char tx[96], tr[96];
    tutti_status s;
    if ((s = op_want_f32("cache_write", "cache", x, err)) ||
        (s = op_want_f32("cache_write", "rows", rows, err)) ||
        (s = op_want_index("cache_write", "position", position, err)))
        return s;
    tutti_desc want = *x;
    if (rows->rank > 1)
        want.dim[1] = rows->dim[1];
    if (x->rank < 2 || !tutti_same_shape(&want, rows) || rows->dim[1] > x->dim[1])
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "cache_write: the cache is %s and rows are %s, want (B, N, ...) and "
                          "(B, T, ...) with T at most N",
                          tutti_desc_text(x, tx, sizeof tx),
                          tutti_desc_text(rows, tr, sizeof tr));
    if (tutti_numel(position) < 1)
        return tutti_fail(err, TUTTI_E_SHAPE, "cache_write: position is %s, want a number",
                          tutti_desc_text(position, tx, sizeof tx));
    *out = *x;
    return TUTTI_OK;
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const cache_view v = cache_of(c);
    const int64_t first = (int64_t)in[2][0];
    if (first < 0 || first + v.t > v.n)
        return TUTTI_E_RANGE;
    for (int64_t i = 0; i < v.batch * v.n * v.inner; i++) {
        const int64_t b = i / v.inner / v.n, row = i / v.inner % v.n - first;
        out[0][i] =
            row < 0 || row >= v.t ? in[0][i] : in[1][(b * v.t + row) * v.inner + i % v.inner];
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const cache_view v = cache_of(c);
    const int64_t first = op_index_at(in[2], c->in[2].dtype, 0);
    const size_t row = (size_t)v.inner * sizeof(float);
    if (first < 0 || first + v.t > v.n)
        return TUTTI_E_RANGE;
    if (in[0] != out[0])
        memcpy(out[0], in[0], (size_t)(v.batch * v.n) * row);
    for (int64_t b = 0; b < v.batch; b++)
        memcpy((char *)out[0] + (size_t)(b * v.n + first) * row,
               (const char *)in[1] + (size_t)(b * v.t) * row, (size_t)v.t * row);
    return TUTTI_OK;
}

/* A pass-through of the cache but for the rows, which have theirs: out of simpler operations there is none that
 * takes a position of the run, and plans with a cache have no backward pass. */
static const tutti_kernel cpu = {.struct_size = sizeof(tutti_kernel), .run = run, .inplace = 1};

static tutti_status cuda_prepare(const tutti_op_call *c, void **ret_state,
                                 uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return CUDA_FUNCTION(c, "cache_write_cuda", ret_state, err, sizeof(cuda_tensor),
                         sizeof(cuda_tensor), sizeof(cuda_tensor), sizeof(cuda_tensor),
                         sizeof(int64_t), sizeof(int64_t), sizeof(int64_t), sizeof(int64_t),
                         sizeof(int32_t), sizeof(void *), sizeof(uint32_t));
}

static tutti_status cuda_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    cache_view v = cache_of(c);
    cuda_tensor x = cuda_in(c, in, 0), rows = cuda_in(c, in, 1), position = cuda_in(c, in, 2);
    cuda_tensor y = cuda_out(c, out, 0);
    int32_t in_place = in[0] == out[0];
    uint32_t *fault = c->cuda->fault, mark = c->cuda->mark;
    int64_t n = v.batch * (in_place ? v.t : v.n) * v.inner;
    void *const args[] = {&x,   &rows,    &position, &y,     &n,   &v.n,
                          &v.t, &v.inner, &in_place, &fault, &mark};
    (void)scratch;
    if (n == 0)
        return TUTTI_OK;
    return cuda_launch(c->cuda, state, cuda_blocks(c->cuda, n), CUDA_BLOCK, 0, args);
}

static const tutti_kernel cuda = {.struct_size = sizeof(tutti_kernel),
                                  .prepare = cuda_prepare,
                                  .run = cuda_run,
                                  .inplace = 1};

OP_PLAIN(cache_write);
OP_DEFINE(cache_write, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 3, .nin_max = 3,
          .infer = infer, .reference = reference, .cpu = &cpu, .cuda = &cuda);
