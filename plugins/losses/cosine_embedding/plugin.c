/* plugin.c - cosine_embedding: pairs that are to point in one direction, or apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#define LOSS_NAME "cosine_embedding"
#define LOSS_VALUE "margin"
#define LOSS_PARTS 2
#include "../parts.h"

/* Of squares, so that a row of zeros has a cosine of 0 and a gradient; torch's. */
static const double least = 1e-12;

static tutti_value sum_of_squares(tutti_graph *g, tutti_value v)
{
    return tutti_affine(g, loss_row_sums(g, tutti_mul(g, v, v)), 1.0, least);
}

static tutti_value cosine_of(tutti_graph *g, tutti_value a, tutti_value b)
{
    const tutti_value size = tutti_mul(g, sum_of_squares(g, a), sum_of_squares(g, b));
    return tutti_div(g, loss_row_sums(g, tutti_mul(g, a, b)), tutti_op1(g, "sqrt", size));
}

/* v where y is `sign`, else 0. */
static tutti_value where_is(tutti_graph *g, tutti_value y, double sign, tutti_value v)
{
    const tutti_attr equal = tutti_attr_i("kind", 0);
    const tutti_value in[2] = {y, loss_number(g, sign)};
    return tutti_mul(g, g->emit(g, "cmp", in, 2, &equal, 1, NULL, 0), v);
}

static tutti_value loss_of_parts(const loss *l, tutti_graph *g, const tutti_value *part,
                                 const tutti_loss_input *in)
{
    const tutti_desc y = *g->desc(g, in->targets[0]);
    const int64_t batch = g->desc(g, part[0])->dim[0];
    char text[200], a[96];
    if (tutti_numel(&y) != batch || y.rank < 1 || y.dim[0] != batch) {
        (void)snprintf(text, sizeof text,
                       "the target is %s, want a number for each pair: 1 or -1",
                       tutti_desc_text(&y, a, sizeof a));
        (void)g->fail(g, TUTTI_E_SHAPE, text);
        return 0;
    }
    const tutti_value sign =
        tutti_reshape(g, loss_cast(g, in->targets[0], TUTTI_F32), &batch, 1);
    const tutti_value alike = cosine_of(g, part[0], part[1]);
    return tutti_add(
        g, where_is(g, sign, 1.0, tutti_affine(g, alike, -1.0, 1.0)),
        where_is(g, sign, -1.0, tutti_relu(g, tutti_affine(g, alike, 1.0, -l->value))));
}
