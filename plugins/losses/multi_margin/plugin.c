/* plugin.c - multi_margin: how far other classes come within a margin of the right one. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "multi_margin"
#define LOSS_VALUE "margin"
#define LOSS_SECOND "p"
#define LOSS_PLAIN_MEAN
#include "../classes.h"

static tutti_value loss_rows(const loss *l, tutti_graph *g, const loss_targets *t)
{
    const tutti_value right = loss_column(g, loss_sum_last(g, tutti_mul(g, t->shares, t->x)));
    tutti_value over = tutti_relu(g, tutti_affine(g, tutti_sub(g, t->x, right), 1.0, l->value));
    if (l->second == 2.0)
        over = tutti_mul(g, over, over);
    const tutti_value others = tutti_sub(g, loss_column(g, t->counts), t->shares);
    const tutti_value rows = loss_sum_last(g, tutti_mul(g, others, over));
    return tutti_affine(g, l->weights ? tutti_mul(g, rows, t->weighs) : rows,
                        1.0 / (double)t->n, 0.0);
}
