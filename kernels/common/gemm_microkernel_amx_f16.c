/* gemm_microkernel_amx_f16.c - the GEMM micro-kernel for f16 factors and f32 sums with AMX-FP16: tdpfp16ps. */
/* SPDX-License-Identifier: Apache-2.0 */
#define PAIRS_F16
#include "common/gemm_microkernel_amx.h"

#if defined(AMX_HERE)
const gemm_microkernel gemm_microkernel_f16 = AMX_MICROKERNEL;
#else
const gemm_microkernel gemm_microkernel_f16 = {0};
#endif
