/* convert.h - operands in scratch memory, in the dtype that a library takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_CONVERT_H
#define KERNELS_COMMON_CUDA_CONVERT_H

#include "common/cuda/launch.h"

/* <folder>_convert_cuda of convert.cuh. */
#define CUDA_CONVERT_FUNCTION(c, folder, ret_function, err)                                    \
    CUDA_FUNCTION(c, folder "_convert_cuda", ret_function, err, sizeof(cuda_tensor),           \
                  sizeof(cuda_tensor), sizeof(int64_t))

#define CUDA_DIRECT UINT64_MAX /* no copy: the operand is used as it is */

/* Scratch parts begin at multiples of 256 bytes, of which libraries want some; so does the first, for
 * which `*bytes` begins with CUDA_PART: the room that this may take. */
enum { CUDA_PART = 256 };

/* Where a part of `size` bytes lies. */
static inline uint64_t cuda_part(uint64_t *bytes, uint64_t size)
{
    const uint64_t at = *bytes;
    *bytes += (size + CUDA_PART - 1) / CUDA_PART * CUDA_PART;
    return at;
}

static inline void *cuda_part_at(void *scratch, uint64_t at)
{
    return (void *)((uintptr_t)scratch / CUDA_PART * CUDA_PART +
                    at); /* at: CUDA_PART or more */
}

/* Where a copy of `d` in `dtype` lies; CUDA_DIRECT when it has that dtype. */
static inline uint64_t cuda_copy_part(uint64_t *bytes, const tutti_desc *d, int32_t dtype)
{
    if (d->dtype == dtype)
        return CUDA_DIRECT;
    return cuda_part(bytes, (uint64_t)tutti_numel(d) * tutti_dtype_size(dtype));
}

static inline tutti_status cuda_convert(const tutti_cuda_v1 *cuda, void *function,
                                        cuda_tensor from, cuda_tensor to, int64_t n)
{
    void *const args[] = {&from, &to, &n};
    return n == 0 ? TUTTI_OK
                  : cuda_launch(cuda, function, cuda_blocks(cuda, n), CUDA_BLOCK, 0, args);
}

/* Operands may be rounded to TF32 in products. */
static inline int cuda_tf32(const tutti_cuda_v1 *cuda)
{
    return TUTTI_HAS(cuda, tutti_cuda_v1, allow) && cuda->allow & TUTTI_CUDA_TF32;
}

#endif
