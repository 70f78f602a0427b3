/* permute_op.c - axes in another order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strided.h"

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

OP_DEFINE(permute, .nin_min = 1, .nin_max = 1, OP_ATTR(permute_attr, permute_fields),
          .infer = infer, .vjp = vjp, .reference = reference, .cpu = &cpu);
