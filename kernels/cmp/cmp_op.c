/* cmp_op.c - comparisons of a and b, broadcast. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/broadcast.h"

/* kind: 0 a == b, 1 a != b, 2 a < b, 3 a <= b, 4 a > b, 5 a >= b; gives f32 0 or 1. */
typedef struct cmp_attr {
    int64_t kind;
} cmp_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(cmp_attr, kind, 0)};

static inline int holds(double x, double y, int64_t kind)
{
    switch (kind) {
    case 0:
        return x == y;
    case 1:
        return x != y;
    case 2:
        return x < y;
    case 3:
        return x <= y;
    case 4:
        return x > y;
    default:
        return x >= y;
    }
}

static tutti_status infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    const cmp_attr *a = c->attr;
    tutti_status s;
    if (a->kind < 0 || a->kind > 5)
        return tutti_fail(err, TUTTI_E_RANGE, "cmp: kind is %lld, want 0 to 5",
                          (long long)a->kind);
    if ((s = op_want_f32("cmp", "a", &c->in[0], err)) ||
        (s = op_want_f32("cmp", "b", &c->in[1], err)))
        return s;
    return broadcast_shape("cmp", &c->in[0], &c->in[1], out, err);
}

static tutti_status reference(const tutti_op_call *c, const double *const *in,
                              double *const *out)
{
    const broadcast b = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);
    for (int64_t i = 0, n = tutti_numel(&c->out[0]); i < n; i++) {
        int64_t ia, ib;
        broadcast_at(&b, i, &ia, &ib);
        out[0][i] = holds(in[0][ia], in[1][ib], ((const cmp_attr *)c->attr)->kind);
    }
    return TUTTI_OK;
}

static tutti_status run(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch)
{
    (void)state, (void)scratch;
    const broadcast b = broadcast_make(&c->in[0], &c->in[1], &c->out[0]);
    const float *x = in[0], *y = in[1];
    float *r = out[0];
    const int64_t kind = ((const cmp_attr *)c->attr)->kind, n = tutti_numel(&c->out[0]);
    const int threads = op_threads(c, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++) {
        int64_t ia, ib;
        broadcast_at(&b, i, &ia, &ib);
        r[i] = holds((double)x[ia], (double)y[ib], kind) ? 1.0f : 0.0f;
    }
    return TUTTI_OK;
}

/* Steps have no slope. */
static tutti_status vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                        tutti_value *dx)
{
    (void)g, (void)n, (void)dy, (void)dx;
    return TUTTI_OK;
}

static const tutti_kernel cpu = {sizeof(tutti_kernel), 0, NULL, run, NULL};

extern const tutti_op tutti_op_cmp;
const tutti_op tutti_op_cmp = {.struct_size = sizeof(tutti_op),
                               .flags = TUTTI_OP_ELEMENTWISE,
                               .name = "cmp",
                               .nin_min = 2,
                               .nin_max = 2,
                               .nout = 1,
                               .attr_size = sizeof(cmp_attr),
                               .fields = fields,
                               .nfields = 1,
                               .infer = infer,
                               .vjp = vjp,
                               .reference = reference,
                               .cpu = &cpu};
