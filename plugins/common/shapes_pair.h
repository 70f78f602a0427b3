/* shapes_pair.h - whether the numbers of two tensors go in pairs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_COMMON_SHAPES_PAIR_H
#define PLUGIN_COMMON_SHAPES_PAIR_H

#include "tutti/tensor.h"

/* Whether `y` has a number for each of `x`: shapes are the same but for dimensions of 1, as (B, 1) and (B) are. */
static inline int shapes_pair(const tutti_desc *x, const tutti_desc *y)
{
    int32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < x->rank && i && x->dim[i] == 1)
            i++;
        while (k < y->rank && k && y->dim[k] == 1)
            k++;
        if (i == x->rank || k == y->rank)
            return i == x->rank && k == y->rank;
        if (x->dim[i] != y->dim[k])
            return 0;
    }
}

#endif
