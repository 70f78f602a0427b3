/* chain.h - the attributes of the operation "chain", which the host makes and kernels run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_INTERNAL_CHAIN_H
#define TUTTI_INTERNAL_CHAIN_H

#include "tutti/op.h"

/* One operation of a chain.  Operands count the chain's inputs, then the results of its links. */
typedef struct tutti_pointwise_op {
    const tutti_op *op;
    const void *attr;
    uint32_t from[3];
    int32_t out;   /* the output of the chain that the result is, or -1 */
    int32_t dtype; /* of the result; a cast rounds to it, others compute in F32 */
    uint32_t reserved;
} tutti_pointwise_op;

/* What `attr` is for the operation "chain": ELEMENTWISE operations on tensors of as many elements, or
 * of one, computed together on a device.  The host alone makes such calls; its infer refuses links
 * that its kernels do not have. */
typedef struct tutti_pointwise_group {
    uint32_t struct_size;
    uint32_t nlinks;
    const tutti_pointwise_op *links; /* valid in infer and prepare */
} tutti_pointwise_group;

#endif
