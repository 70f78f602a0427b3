/* elementwise.h - the shell of a loss that is a function of one number of the output and one of the target.  The
 * including file defines what loss_plugin.h wants, but loss_element instead of loss_emit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOSS_ELEMENTWISE_H
#define LOSS_ELEMENTWISE_H

#include "loss_plugin.h"

/* The plugin's own: the losses of numbers x and y, F32 of one shape. */
static tutti_value loss_element(const loss *l, tutti_graph *g, tutti_value x, tutti_value y);

static tutti_value loss_emit(const loss *l, tutti_graph *g, const tutti_loss_input *in)
{
    const tutti_value y = loss_numbers(g, in->outputs[0], in->targets[0]);
    return y ? loss_reduce(l, g, loss_element(l, g, in->outputs[0], y), in->reduction) : 0;
}

/* a where x < limit, else b. */
static inline tutti_value loss_below(tutti_graph *g, tutti_value x, double limit, tutti_value a,
                                     tutti_value b)
{
    const tutti_attr less = tutti_attr_i("kind", 2);
    const tutti_value in[2] = {x, loss_number(g, limit)};
    return tutti_where(g, g->emit(g, "cmp", in, 2, &less, 1, NULL, 0), a, b);
}

#endif
