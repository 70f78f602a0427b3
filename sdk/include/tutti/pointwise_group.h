/* pointwise_group.h - pointwise operations that a device runs together: what the kernel of such a group is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_POINTWISE_GROUP_H
#define TUTTI_POINTWISE_GROUP_H

#include "op.h"

#if TUTTI_USE_MINOR >= 2
TUTTI_C_BEGIN

/* One operation of a group.  It has one result.  since 1.2 */
typedef struct tutti_pointwise_op {
    const tutti_op *op;
    /* The op's attribute struct, defaults filled in; NULL where it has none. */
    const void *attr;
    /* Operand k, up to the op's nin_max, which is its nin_min: first the group's inputs count, then the results of its
     * operations, of which this reads those before it alone. */
    uint32_t from[3];
    int32_t out; /* the output of the group that the result is, or -1: it stays in the group */
    int32_t dtype; /* of a cast, whose result is rounded to it; F32 of all others */
    uint32_t reserved;
} tutti_pointwise_op;

/* What `attr` of a call is for a kernel of the operation "pointwise_fusion", which the host makes on
 * devices that say TUTTI_DEVICE_GROUPS: a plugin's device answers tutti_device_v1.kernel with one.
 *
 * A group has at most 16 operations, 16 inputs and TUTTI_OP_MAX_OUT outputs.  Its operations say
 * TUTTI_POINTWISE_CODE (op_traits.h).  For a plugin's device they are built in, and its kernel has to know all of
 * these, by op->name; on a CUDA device those of plugins that have `pointwise_cuda` are among them.  Results and outputs have the
 * same count of elements, n; an input has n, or 1, which stands for each.  Inputs and outputs are F32, or in mixed
 * precision BF16 or F16: an operation reads such an input as F32, computes in F32, and only what is stored in an
 * output of 16 bits is rounded to it.  An output may lie where an input of its dtype and of n elements lies: element k
 * of all inputs is read before element k of an output is written, or the operations run one after the other, each over
 * all elements: an output lies on no input that an operation behind its own reads.  Zero elements are legal.
 *
 * The host owns all of it; it stays, with `op` and `attr` of each operation, from prepare to destroy.  since 1.2 */
typedef struct tutti_pointwise_group {
    uint32_t struct_size;
    uint32_t nops;
    const tutti_pointwise_op *ops;
} tutti_pointwise_group;

TUTTI_C_END
#endif
#endif
