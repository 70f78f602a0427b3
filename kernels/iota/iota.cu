/* iota.cu - the whole numbers 0, 1 ... n - 1, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/device.cuh"

CUDA_KERNEL(iota_cuda)(cuda_tensor y, int64_t n)
{
    CUDA_EACH(k, n)
    {
        if (y.dtype == TUTTI_I64)
            static_cast<int64_t *>(y.data)[k] = k;
        else if (y.dtype == TUTTI_I32)
            static_cast<int32_t *>(y.data)[k] = (int32_t)k;
        else
            cuda_set(y, k, (float)k);
    }
}
CUDA_ENTRY(iota_cuda);
