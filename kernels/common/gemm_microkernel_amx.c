/* gemm_microkernel_amx.c - the GEMM micro-kernel for bf16 factors and f32 sums with AMX: tdpbf16ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel_amx.h"

#if defined(AMX_HERE)
const gemm_microkernel gemm_microkernel_bf16 = AMX_MICROKERNEL;
#endif
