/* pointwise_group.h - what `attr` is for the operation "pointwise_fusion", which the host makes and kernels run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_INTERNAL_POINTWISE_GROUP_H
#define TUTTI_INTERNAL_POINTWISE_GROUP_H

#include "tutti/op.h"

/* One operation of a group.  Operands count the group's inputs, then the results of its operations. */
typedef struct tutti_pointwise_op {
    const tutti_op *op;
    const void *attr;
    uint32_t from[3];
    int32_t out;   /* the output of the group that the result is, or -1 */
    int32_t dtype; /* of the result; a cast rounds to it, others compute in F32 */
    uint32_t reserved;
} tutti_pointwise_op;

/* What `attr` is for the operation "pointwise_fusion": ELEMENTWISE operations on tensors of as many elements, or
 * of one, computed together on a device.  The host alone makes such calls; its infer refuses operations
 * that its kernels do not have. */
typedef struct tutti_pointwise_group {
    uint32_t struct_size;
    uint32_t nops;
    const tutti_pointwise_op *ops; /* valid in infer and prepare */
} tutti_pointwise_group;

#endif
