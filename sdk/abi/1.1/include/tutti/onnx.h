/* onnx.h - tutti_onnx: how an operation becomes operators of an ONNX graph. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_ONNX_H
#define TUTTI_ONNX_H

#include "graph.h"

TUTTI_C_BEGIN

#if TUTTI_USE_MINOR >= 1
struct tutti_op_call;

/* since 1.1 */
enum { TUTTI_ONNX_OPSET = 17 }; /* of the domain ai.onnx: the oldest that a host asks for */

/* since 1.1.  One node, as the rule `onnx` of its operation's traits sees it.  The host owns everything; valid for the
 * call.  All members [control]. */
typedef struct tutti_onnx tutti_onnx;
struct tutti_onnx {
    uint32_t struct_size;
    uint32_t nin;
    /* Its emit takes names of ONNX operators and their attributes (I64, F64, LIST, TEXT); operand 0 is one left
     * out.  `constant` makes an initializer.  `desc` knows the operands of the node and constants.  `weight`,
     * `assign`, `call` and `guard` fail with E_UNSUPPORTED. */
    tutti_graph *graph;
    /* The node's shapes, dtypes and attributes, at some number of samples.  Where what is emitted depends on that
     * number, the file has a fixed one. */
    const struct tutti_op_call *call;
    const tutti_value *in; /* nin */
    uint32_t opset; /* of the domain ai.onnx, that of the file: what is emitted must be in it */
    uint32_t reserved; /* 0 */
    /* The dimensions of result 0 as I64 (rank), for whatever number of samples the model is run with. */
    tutti_value (*shape)(const tutti_onnx *o);
};
#endif

TUTTI_C_END
#endif
