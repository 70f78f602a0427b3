/* plugin.c - hinge_embedding: distances that are small for 1 and large for -1. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "hinge_embedding"
#define LOSS_VALUE "margin"
#include "../elementwise.h"

static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y)
{
    const tutti_attr differ = tutti_attr_i("kind", 1);
    const tutti_value one[2] = {y, loss_number(g, 1.0)}, minus[2] = {y, loss_number(g, -1.0)};
    const tutti_value apart = tutti_relu(g, tutti_affine(g, x, -1.0, l->value));
    return tutti_add(g, tutti_mul(g, g->emit(g, "cmp", one, 2, &differ, 1, NULL, 0), apart),
                     tutti_mul(g, g->emit(g, "cmp", minus, 2, &differ, 1, NULL, 0), x));
}
