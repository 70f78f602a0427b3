/* label_smoothing.cu - targets moved towards uniform on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "smooth.h"

TUTTI_KERNEL(label_smoothing_cuda)
(const uint8_t *x, float *y, float keep, float add, int32_t kind, int64_t classes, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        y[k] = smooth_at(x, keep, add, kind, classes, k);
    }
}
TUTTI_KERNEL_ENTRY(label_smoothing_cuda);
