/* plugin.c - mse: the squared difference. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "mse"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    (void)l;
    const tutti_value d = tutti_sub(g, x, y);
    return tutti_mul(g, d, d);
}
