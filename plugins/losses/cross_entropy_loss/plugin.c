/* plugin.c - cross_entropy: softmax cross entropy with weights, smoothing and a class to ignore. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "cross_entropy"
#define LOSS_PROBABILITIES
#define LOSS_VALUE "label_smoothing"
#include "../classes.h"

/* Weighted shares, smoothed towards uniform in rows that count; plain classes take the operation as they are. */
static tutti_value loss_rows(const loss *l, tutti_graph *g, const loss_targets *t)
{
    if (l->value == 0.0 && !l->weights && (!t->classes || l->ignored == -100))
        return tutti_softmax_cross_entropy(g, t->x, t->y);
    tutti_value shares = t->shares;
    if (l->value > 0.0)
        shares =
            tutti_add(g, tutti_affine(g, shares, 1.0 - l->value, 0.0),
                      tutti_affine(g, loss_column(g, t->counts), l->value / (double)t->n, 0.0));
    return tutti_softmax_cross_entropy(g, t->x, loss_weighted(l, g, shares));
}
