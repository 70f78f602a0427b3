/* f16_model.c - the micro-kernels for factors in f16 by level: at all of them the model, since the test asks for AVX-512. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"

const tutti_isa_table gemm_microkernel_f16_isa = {{&gemm_microkernel_f16}};
