/* shape.h - the attribute of operations that are told a shape. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_SHAPE_H
#define KERNELS_COMMON_SHAPE_H

#include "common/op_util.h"

#include <string.h>

typedef struct shape_attr {
    tutti_list shape;
} shape_attr;

static const tutti_attr_field shape_fields[] = {OP_FIELD_LIST(shape_attr, shape)};

static inline void shape_desc(const shape_attr *a, int32_t dtype, tutti_desc *out)
{
    memset(out, 0, sizeof *out);
    out->rank = (int32_t)a->shape.n;
    out->dtype = dtype;
    memcpy(out->dim, a->shape.v, (size_t)a->shape.n * sizeof *out->dim);
}

/* Whether `small` broadcasts to `large`. */
static inline int shape_broadcasts(const tutti_desc *small, const tutti_desc *large)
{
    if (small->rank > large->rank)
        return 0;
    for (int32_t k = 1; k <= small->rank; k++) {
        const int64_t s = small->dim[small->rank - k];
        if (s != 1 && s != large->dim[large->rank - k])
            return 0;
    }
    return 1;
}

#endif
