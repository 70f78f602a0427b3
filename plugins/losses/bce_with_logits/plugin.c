/* plugin.c - bce_with_logits: binary cross entropy of logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "bce_with_logits"
#define LOSS_WEIGHTS "pos_weight"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    const tutti_desc *d = g->desc(g, x);
    const int64_t n = d->rank ? d->dim[d->rank - 1] : 1;
    const tutti_value tail = tutti_op1(g, "softplus", tutti_affine(g, x, -1.0, 0.0));
    char text[160];
    tutti_value weighed = tail;
    if (l->weights && l->nweights != n) {
        (void)snprintf(text, sizeof text,
                       "pos_weight has %lld numbers, and the output has %lld labels",
                       (long long)l->nweights, (long long)n);
        (void)g->fail(g, TUTTI_E_SHAPE, text);
        return 0;
    }
    if (l->weights) { /* 1 + (pos_weight - 1) y */
        const tutti_value more = tutti_affine(g, loss_weights(l, g), 1.0, -1.0);
        weighed = tutti_mul(g, tutti_affine(g, tutti_mul(g, more, y), 1.0, 1.0), tail);
    }
    return tutti_add(g, tutti_mul(g, tutti_affine(g, y, -1.0, 1.0), x), weighed);
}
