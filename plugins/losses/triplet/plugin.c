/* plugin.c - triplet: an anchor that is to be nearer to its like than to another, by a margin. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "triplet"
#define LOSS_VALUE "margin"
#define LOSS_SECOND "p"
#define LOSS_THIRD "eps"
#define LOSS_FLAG "swap"
#define LOSS_PARTS 3
#include "../parts.h"

static tutti_value raised_to(tutti_graph *g, tutti_value v, double power)
{
    const tutti_value in[2] = {v, loss_number(g, power)};
    return g->emit(g, "pow", in, 2, NULL, 0, NULL, 0);
}

/* The p-norms of a - b + eps, (B). */
static tutti_value distance_of(const loss *l, tutti_graph *g, tutti_value a, tutti_value b)
{
    const tutti_value d = tutti_affine(g, tutti_sub(g, a, b), 1.0, l->third);
    if (l->second == 2.0)
        return tutti_op1(g, "sqrt", loss_row_sums(g, tutti_mul(g, d, d)));
    const tutti_value size = tutti_op1(g, "abs", d);
    if (l->second == 1.0)
        return loss_row_sums(g, size);
    return raised_to(g, loss_row_sums(g, raised_to(g, size, l->second)), 1.0 / l->second);
}

static tutti_value loss_of_parts(const loss *l, tutti_graph *g, const tutti_value *part,
                                 const tutti_loss_input *in)
{
    (void)in;
    const tutti_value near = distance_of(l, g, part[0], part[1]);
    tutti_value far = distance_of(l, g, part[0], part[2]);
    if (l->flag)
        far = tutti_op2(g, "min", far, distance_of(l, g, part[1], part[2]));
    return tutti_relu(g, tutti_affine(g, tutti_sub(g, near, far), 1.0, l->value));
}
