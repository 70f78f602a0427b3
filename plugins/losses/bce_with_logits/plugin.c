/* plugin.c - bce_with_logits: binary cross entropy of logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "bce_with_logits"
#define LOSS_WEIGHTS "pos_weight"
#define LOSS_FACTORS "weight"
#include "../elementwise.h"

/* Whether a list, if it is given, has a number for each of the output's `n` labels. */
static int bce_with_logits_fits(tutti_graph *g, const char *name, const float *list,
                                int64_t count, int64_t n)
{
    char text[160];
    if (!list || count == n)
        return 1;
    (void)snprintf(text, sizeof text, "%s has %lld numbers, and the output has %lld labels",
                   name, (long long)count, (long long)n);
    (void)g->fail(g, TUTTI_E_SHAPE, text);
    return 0;
}

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    const tutti_desc *d = g->desc(g, x);
    const int64_t n = d->rank ? d->dim[d->rank - 1] : 1;
    const tutti_value tail = tutti_op1(g, "softplus", tutti_affine(g, x, -1.0, 0.0));
    tutti_value weighed = tail;
    if (!bce_with_logits_fits(g, "pos_weight", l->weights, l->nweights, n) ||
        !bce_with_logits_fits(g, "weight", l->factors, l->nfactors, n))
        return 0;
    if (l->weights) { /* 1 + (pos_weight - 1) y */
        const tutti_value more = tutti_affine(g, loss_weights(l, g), 1.0, -1.0);
        weighed = tutti_mul(g, tutti_affine(g, tutti_mul(g, more, y), 1.0, 1.0), tail);
    }
    const tutti_value each =
        tutti_add(g, tutti_mul(g, tutti_affine(g, y, -1.0, 1.0), x), weighed);
    return l->factors ? tutti_mul(g, loss_factors(l, g), each) : each;
}
