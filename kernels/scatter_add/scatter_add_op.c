/* scatter_add_op.c - scatter-add: slices added to those of base that an index names, an embedding's gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "scatter_add/scatter_add_op.h"
#include "common/axis.h"
#include "common/op_util.h"

#include <string.h>

/* base (before, n, after), index (...) of I32 or I64, src (before, ..., after) -> base's shape:
 * out = base, then out[o, index[j], :] += src[o, j, :] for each j in turn.  An entry outside [0, n)
 * is E_RANGE. */
static const tutti_attr_field fields[] = {OP_FIELD_I64(scatter_add_attr, axis, 0)};

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const tutti_desc *base = &c->in[0], *index = &c->in[1];
    tutti_desc want = {{0}, 0, TUTTI_F32};
    int32_t axis = 0;
    tutti_status s;
    if ((s = op_want_f32("scatter_add", "base", base, err)) ||
        (s = op_want_index("scatter_add", "index", index, err)) ||
        (s = op_want_f32("scatter_add", "src", &c->in[2], err)) ||
        (s = op_axis("scatter_add", ((const scatter_add_attr *)c->attr)->axis, base->rank,
                     &axis, err)))
        return s;
    if (base->rank + index->rank - 1 > TUTTI_MAX_RANK)
        return tutti_fail(err, TUTTI_E_SHAPE, "scatter_add: src has rank %d, want %d at most",
                          base->rank + index->rank - 1, TUTTI_MAX_RANK);
    for (int32_t k = 0; k < base->rank; k++)
        for (int32_t j = 0; j < (k == axis ? index->rank : 1); j++)
            want.dim[want.rank++] = k == axis ? index->dim[j] : base->dim[k];
    *out = *base;
    return op_want_same("scatter_add", "src", &c->in[2], "what the index asks for", &want, err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const axis_view v = axis_of(&c->in[0], ((const scatter_add_attr *)c->attr)->axis);
    const int64_t count = tutti_numel(&c->in[1]);
    for (int64_t i = 0; i < tutti_numel(&c->out[0]); i++)
        out[0][i] = in[0][i];
    for (int64_t i = 0; i < tutti_numel(&c->in[2]); i++) {
        const double k = in[1][i / v.inner % count];
        if (k < 0 || k >= (double)v.n)
            return TUTTI_E_RANGE;
        const int64_t o = i / v.inner / count;
        out[0][(o * v.n + (int64_t)k) * v.inner + i % v.inner] += in[2][i];
    }
    return TUTTI_OK;
}

static void add_row(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i];
}

/* Each thread owns a range of the axis and reads the whole index, so that sums have one order
 * however many threads there are. */
static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const axis_view v = axis_of(&c->in[0], ((const scatter_add_attr *)c->attr)->axis);
    const int64_t count = tutti_numel(&c->in[1]);
    const int threads = op_threads(c, tutti_numel(&c->in[2]));
    const float *src = in[2];
    float *y = out[0];
    int bad = 0;
    if (y != in[0])
        memcpy(y, in[0], tutti_nbytes(&c->out[0]));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)                \
    reduction(|                                                                                \
              : bad)
    for (int t = 0; t < threads; t++) {
        const int64_t first = v.n * t / threads, end = v.n * (t + 1) / threads;
        for (int64_t i = 0; i < v.outer * count; i++) {
            const int64_t k = op_index_at(in[1], c->in[1].dtype, i % count);
            if (k < 0 || k >= v.n)
                bad = 1;
            if (k >= first && k < end)
                add_row(src + i * v.inner, y + (i / count * v.n + k) * v.inner, v.inner);
        }
    }
    return bad ? TUTTI_E_RANGE : TUTTI_OK;
}

static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    const tutti_attr axis = tutti_attr_i("axis", ((const scatter_add_attr *)n->attr)->axis);
    const tutti_value in[2] = {dy[0], n->in[1]};
    if (n->need & 1)
        dx[0] = dy[0];
    if (n->need & 4)
        dx[2] = g->emit(g, "gather", in, 2, &axis, 1, NULL, 0);
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 1, NULL, run, NULL};

OP_TRAITS(scatter_add, F32, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, SCATTER_ADD);
OP_DEFINE(scatter_add, .flags = TUTTI_OP_REPRODUCIBLE, .nin_min = 3, .nin_max = 3,
          OP_ATTR(scatter_add_attr, fields), .infer = infer, .vjp = vjp, .reference = reference,
          .cpu = &cpu, .cuda = &scatter_add_cuda);
