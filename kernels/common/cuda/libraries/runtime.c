/* runtime.c - the CUDA runtime's functions, found by name: one loader for all kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/runtime.h"
#include "common/cuda/libraries/symbols.h"

tutti_status cuda_runtime_load(const tutti_cuda_v1 *cuda, cuda_runtime *ret, tutti_error *err)
{
    static const cuda_symbol functions[] = {
#define ENTRY(member, name, args) {#name, offsetof(cuda_runtime, member)},
        CUDA_RUNTIME_FUNCTIONS(ENTRY)
#undef ENTRY
    };
    return cuda_symbols(cuda->ctx, cuda->symbol, "cudart", functions,
                        sizeof functions / sizeof *functions, ret, err);
}
