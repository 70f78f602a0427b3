/* cuda_runtime.h - what NCCL's header needs of CUDA's, where the toolkit is not installed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_NCCL_CUDA_RUNTIME_H
#define TESTS_CUDA_NCCL_CUDA_RUNTIME_H
#include <stddef.h>
#include <stdint.h>
typedef struct CUstream_st *cudaStream_t;
#endif
