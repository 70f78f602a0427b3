/* pointwise_compile.h - the interpreter with expressions of plugins' operations: compiled when a group first has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_POINTWISE_COMPILE_H
#define KERNELS_POINTWISE_COMPILE_H

#include "tutti/op.h"

/* Why an operation of a plugin cannot be in a group on this device, or OK.  Errors: E_UNSUPPORTED where it has no
 * expression; E_ARG where it has too many operands or attributes; those of nvrtc_load.  [control] */
TUTTI_NODISCARD tutti_status pointwise_can_compile(const tutti_cuda_v1 *cuda,
                                                   const tutti_op *op, tutti_error *err);

/* The device code whose opcodes from OPCODES on are these operations, in this order.  A text is compiled once for a device,
 * which owns the code; the call's choice is told.  Errors: those of nvrtc_compile.
 * [control] */
TUTTI_NODISCARD tutti_status pointwise_compile(const tutti_op_call *c,
                                               const tutti_op *const *ops, uint32_t nops,
                                               const tutti_cuda_image **ret_image,
                                               tutti_error *err);

#endif
