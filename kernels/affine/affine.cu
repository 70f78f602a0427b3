/* affine.cu - scale x + shift, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "affine/affine.h"
#include "common/cuda/elementwise.cuh"

CUDA_UNARY_ATTR(affine, affine_attr);
