/* nan.cu - whether a loss is a number, on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/cuda_code.h"

TUTTI_KERNEL(nan_find_cuda)(const float *loss, int32_t *found, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        if (loss[k] != loss[k])
            *found = 1; /* whoever else finds one writes the same */
    }
}
TUTTI_KERNEL_ENTRY(nan_find_cuda);
