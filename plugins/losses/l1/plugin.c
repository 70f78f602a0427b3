/* plugin.c - l1: the absolute difference. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "l1"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    (void)l;
    return tutti_op1(g, "abs", tutti_sub(g, x, y));
}
