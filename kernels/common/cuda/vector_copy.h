/* vector_copy.h - vectorised copies on the GPU: as many bytes at a time as strides allow, of any dtype. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_VECTOR_COPY_H
#define KERNELS_COMMON_CUDA_VECTOR_COPY_H

#include "tutti/op.h"

/* What is moved at a time: 1, 2, 4, 8 or 16 bytes as they are, or floats between two dtypes. */
enum { CUDA_CONVERT_1 = 33, CUDA_CONVERT_8 = 40 };

/* `kind` is one of those; an operand's places count units of `elements` elements. */
typedef struct cuda_vector_copy {
    int32_t kind;
    int32_t elements;
} cuda_vector_copy;

#ifndef __cplusplus

/* For runs of elements whose numbers and places are multiples of `multiple` (0: of everything). */
static inline cuda_vector_copy cuda_vector_copy_of(int32_t from, int32_t to, int64_t multiple)
{
    const int32_t size = (int32_t)tutti_dtype_size(from);
    cuda_vector_copy u = {size, 1};
    if (from != to)
        return multiple % 8 ? (cuda_vector_copy){CUDA_CONVERT_1, 1}
                            : (cuda_vector_copy){CUDA_CONVERT_8, 8};
    while (u.kind < 16 && multiple % (2 * u.elements) == 0) {
        u.kind *= 2;
        u.elements *= 2;
    }
    return u;
}

#endif
#endif
