/* group_norm_shape.c - x as samples, pixels and groups of channels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "group_norm/group_norm.h"

group_norm_shape group_norm_shape_of(const tutti_op_call *c)
{
    return group_norm_shape_for(&c->in[0], c->attr);
}

group_norm_shape group_norm_shape_for(const tutti_desc *x, const group_norm_attr *a)
{
    group_norm_shape s = {x->dim[0], 1, x->dim[x->rank - 1], a->groups, 0, a->eps};
    for (int32_t k = 1; k + 1 < x->rank; k++)
        s.pixels *= x->dim[k];
    s.width = s.channels / s.groups;
    return s;
}
