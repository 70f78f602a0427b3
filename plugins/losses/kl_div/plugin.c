/* plugin.c - kl_div: the Kullback-Leibler divergence of log-probabilities. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "kl_div"
#define LOSS_FLAG "log_target"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    const tutti_attr least = tutti_attr_f("min", 0x1p-126); /* 0 log 0 is 0 */
    if (l->flag)
        return tutti_mul(g, tutti_op1(g, "exp", y), tutti_sub(g, y, x));
    const tutti_value log_y =
        tutti_op1(g, "log", g->emit(g, "clamp", &y, 1, &least, 1, NULL, 0));
    return tutti_mul(g, y, tutti_sub(g, log_y, x));
}
