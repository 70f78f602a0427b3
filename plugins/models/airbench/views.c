/* views.c - test-time augmentation: Jordan 2024, section 3.5. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

enum { SHIFTS = 3, MOST = 2 * SHIFTS };

static int64_t views_shifts(int64_t views)
{
    return views == VIEWS_MIRROR_SHIFT ? SHIFTS : 1;
}

/* Rows (or columns) begin to end - 1 of x. */
static tutti_value views_cut(tutti_graph *g, tutti_value x, int32_t axis, int64_t begin,
                             int64_t end)
{
    const tutti_desc d = *g->desc(g, x);
    int64_t from[4] = {0, 0, 0, 0}, to[4] = {d.dim[0], d.dim[1], d.dim[2], d.dim[3]};
    from[axis] = begin;
    to[axis] = end;
    const tutti_attr attr[2] = {tutti_attr_list("begin", from, 4),
                                tutti_attr_list("end", to, 4)};
    return g->emit(g, "slice", &x, 1, attr, 2, NULL, 0);
}

static tutti_value views_join(tutti_graph *g, const tutti_value *parts, uint32_t n,
                              int32_t axis)
{
    const tutti_attr attr = tutti_attr_i("axis", axis);
    return g->emit(g, "concat", parts, n, &attr, 1, NULL, 0);
}

/* Moved by one along an axis, forwards or back; what comes in is the row behind the edge. */
static tutti_value views_shift(tutti_graph *g, tutti_value x, int32_t axis, int forwards)
{
    const int64_t n = g->desc(g, x)->dim[axis];
    const tutti_value edge =
        forwards ? views_cut(g, x, axis, 1, 2) : views_cut(g, x, axis, n - 2, n - 1);
    const tutti_value rest =
        forwards ? views_cut(g, x, axis, 0, n - 1) : views_cut(g, x, axis, 1, n);
    const tutti_value parts[2] = {forwards ? edge : rest, forwards ? rest : edge};
    return views_join(g, parts, 2, axis);
}

tutti_value views_make(tutti_graph *g, int64_t views, tutti_value x)
{
    static const int64_t columns = 2;
    const int64_t n = views_shifts(views);
    const tutti_attr axes = tutti_attr_list("axes", &columns, 1);
    tutti_value shifted[SHIFTS] = {x}, both[2];
    for (int k = 1; k < n; k++)
        shifted[k] = views_shift(g, views_shift(g, x, 1, k == 1), 2, k == 1);
    both[0] = n > 1 ? views_join(g, shifted, (uint32_t)n, 0) : x;
    both[1] = g->emit(g, "flip", &both[0], 1, &axes, 1, NULL, 0);
    return views_join(g, both, 2, 0);
}

tutti_value views_mean(tutti_graph *g, int64_t views, tutti_value y)
{
    static const int64_t first = 0;
    const int64_t n = 2 * views_shifts(views);
    const tutti_desc d = *g->desc(g, y);
    const int64_t shape[3] = {n, d.dim[0] / n, d.dim[1]};
    float share[MOST];
    for (int64_t k = 0; k < n; k++)
        share[k] = n == 2 ? 0.5f : k % SHIFTS == 0 ? 0.25f : 0.125f;
    const tutti_tensor shares = {share, {{n, 1, 1}, 3, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    y = tutti_mul(g, tutti_reshape(g, y, shape, 3), g->constant(g, &shares));
    return tutti_reduce(g, "sum", y, &first, 1, 0);
}
