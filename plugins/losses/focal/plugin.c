/* plugin.c - focal: cross entropy that counts what the model is sure of less. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "focal"
#define LOSS_PROBABILITIES
#define LOSS_VALUE "gamma"
#include "../classes.h"

/* 1 - p is no smaller than half a step of f32 below 1, where its powers still have a slope. */
#define LEAST 0x1p-25

static tutti_value loss_rows(const loss *l, tutti_graph *g, const loss_targets *t)
{
    const tutti_attr axis = tutti_attr_i("axis", -1), least = tutti_attr_f("min", LEAST);
    const tutti_value log_p = g->emit(g, "log_softmax", &t->x, 1, &axis, 1, NULL, 0);
    tutti_value rest = tutti_affine(g, tutti_op1(g, "exp", log_p), -1.0, 1.0);
    rest = g->emit(g, "clamp", &rest, 1, &least, 1, NULL, 0);
    const tutti_value each =
        tutti_mul(g, tutti_op2(g, "pow", rest, loss_number(g, l->value)), log_p);
    const tutti_value shares = loss_weighted(l, g, t->shares);
    return tutti_affine(g, loss_sum_last(g, tutti_mul(g, shares, each)), -1.0, 0.0);
}
