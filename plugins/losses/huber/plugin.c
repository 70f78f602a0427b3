/* plugin.c - huber: squared up to delta, linear beyond. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "huber"
#define LOSS_VALUE "delta"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    const tutti_value d = tutti_sub(g, x, y), size = tutti_op1(g, "abs", d);
    return loss_below(g, size, l->value, tutti_affine(g, tutti_mul(g, d, d), 0.5, 0.0),
                      tutti_affine(g, size, l->value, -0.5 * l->value * l->value));
}
