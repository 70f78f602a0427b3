/* plugin.c - nll: the negative of a class's output. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "nll"
#include "../classes.h"

static tutti_value loss_rows(const loss *l, tutti_graph *g, const loss_targets *t)
{
    const tutti_value shares = loss_weighted(l, g, t->shares);
    return tutti_affine(g, loss_sum_last(g, tutti_mul(g, shares, t->x)), -1.0, 0.0);
}
