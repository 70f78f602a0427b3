/* symbols.h - the functions of one of NVIDIA's libraries, found by name into a struct of pointers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_SYMBOLS_H
#define KERNELS_COMMON_CUDA_LIBRARIES_SYMBOLS_H

#include "tutti/cuda.h"

#include <stddef.h>

typedef struct cuda_symbol {
    const char *name;
    size_t at; /* offset of its pointer in the struct */
} cuda_symbol;

/* tutti_cuda_v1.symbol, and what stands for it in tests. */
typedef tutti_status cuda_finder(void *ctx, const char *library, const char *name,
                                 void **ret_symbol, tutti_error *err);

/* Stops at the first that is not there, with the finder's error.  [control] */
TUTTI_NODISCARD tutti_status cuda_symbols(void *ctx, cuda_finder *find, const char *library,
                                          const cuda_symbol *list, size_t count,
                                          void *ret_functions, tutti_error *err);

#endif
