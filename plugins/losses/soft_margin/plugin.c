/* plugin.c - soft_margin: the logistic loss of signs. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "soft_margin"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    (void)l;
    return tutti_op1(g, "softplus", tutti_affine(g, tutti_mul(g, x, y), -1.0, 0.0));
}
