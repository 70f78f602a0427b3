/* precision.h - mixed precision: what is stored in 16 bits, and what nodes read and give for that. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_PRECISION_H
#define HOST_GRAPH_IR_PRECISION_H

#include "graph/ir/graph.h"

/* As autocast has it: products (matmul, conv2d, sdpa) read and write the low dtype; sums, means, norms
 * over a row, softmax, losses, exp, log and pow give f32; what moves or scales elements keeps its
 * input's dtype; what joins several takes the widest of those with more than one element.  Every
 * kernel computes in f32 or better.  Gradients have the dtype of what they belong to, so those of
 * weights, which stay f32, are f32 and are not rounded to 16 bits on the way.
 *
 * 8 bits (F8_E4M3, F8_E5M2) are what a cast makes and a product reads, by a cast to a wider dtype, which is exact.
 * The gradient of such a value keeps the dtype that it was computed in: the rounding of a forward pass is not
 * differentiated, and 8 bits without a scale would lose it. */

static inline bool dtype_is_f8(int32_t dtype)
{
    return dtype == TUTTI_F8_E4M3 || dtype == TUTTI_F8_E5M2;
}

static inline bool dtype_is_half(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

/* op->infer for operands that may be BF16 or F16, by the rules above. */
tutti_status precision_infer(const tutti_op *op, const tutti_op_call *c,
                             const graph_autocast *autocast, tutti_desc *out, tutti_error *err);

/* Casts the operands of a product to the autocast dtype, those of 8 bits without one to F32; false if none needs a cast:
 * ret_in is then not to be read. */
bool precision_cast_operands(graph *g, const tutti_op *op, const graph_autocast *autocast,
                             const tutti_value *in, uint32_t nin, tutti_value *ret_in);

/* Whether the op's kernel takes these dtypes itself; upcast.h does it for the others. */
bool precision_is_native(const tutti_op *op, const tutti_op_call *c);

/* Whether a kernel that takes each operand and result in any float dtype may store result 0 of this
 * call, F32, in `dtype` of 16 bits: it is computed in F32 and rounded once, and not moved or added up
 * where it lies.  Products give what their operands have. */
bool precision_may_narrow(const tutti_op *op, const tutti_op_call *c, int32_t dtype);
/* Whether its CPU kernel says that it writes result 0 in `dtype` of 16 bits by itself: TUTTI_OP_HALF, and TUTTI_OP_BF16 of
 * products (sums with that flag read BF16, but give F32). */
bool precision_cpu_writes(const tutti_op *op, int32_t dtype);

/* `v` as `dtype`: itself, also when it is a product that nobody has read yet and becomes f32 for that;
 * or a cast.  0 after an error. */
tutti_value graph_cast(graph *g, tutti_value v, int32_t dtype);
/* The same, but never another dtype of the product: a product in 16 bits has been rounded to them. */
tutti_value graph_cast_rounded(graph *g, tutti_value v, int32_t dtype);

#endif
