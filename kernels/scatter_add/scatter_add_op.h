/* scatter_add_op.h - what the operation and its kernel for the GPU share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SCATTER_ADD_OP_H
#define KERNELS_SCATTER_ADD_OP_H

#include "tutti/op.h"

typedef struct scatter_add_attr {
    int64_t axis;
} scatter_add_attr;

static inline int64_t scatter_add_axis(const tutti_op_call *c)
{
    return ((const scatter_add_attr *)c->attr)->axis;
}

extern const tutti_kernel scatter_add_cuda;

#endif
