/* traits.h - what operations say of themselves, whichever version of the SDK they are built with. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_TRAITS_H
#define HOST_GRAPH_IR_TRAITS_H

#include "tutti/op.h"

#include <stdbool.h>

/* All zeros, "not said", where the operation has none. */
static inline const tutti_op_traits *traits_of(const tutti_op *op)
{
    static const tutti_op_traits unsaid = {.struct_size = sizeof unsaid};
    return TUTTI_HAS(op, tutti_op, traits) && op->traits ? op->traits : &unsaid;
}

static inline bool traits_have_role(const tutti_op *op, int32_t role)
{
    return traits_of(op)->role == role;
}

/* The operation that it becomes together with another; NULL: that fusion is not said. */
static inline const char *traits_fusion(const tutti_op *op, int32_t with)
{
    const tutti_fusion *f = traits_of(op)->fusions;
    while (f && f->with && f->with != with)
        f++;
    return f && f->with ? f->into : NULL;
}

/* TUTTI_ACT_* of an activation, or of the gradient of one, as `role` says; TUTTI_ACT_NONE: it is none. */
static inline int32_t traits_activation(const tutti_op *op, int32_t role, const void *attr)
{
    const tutti_op_traits *t = traits_of(op);
    return t->role == role && t->activation ? t->activation(attr) : TUTTI_ACT_NONE;
}

#endif
