/* climb.cu - sam's step up on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../norm_cuda.h"
#include "climb.h"

TUTTI_KERNEL(climb_cuda)(float *w, const float *g, float *before, const float *scale, int64_t n)
{
    const float s = *scale;
    TUTTI_EACH(k, n)
    {
        before[k] = w[k];
        w[k] = climb_weight(w[k], g[k], s);
    }
}
TUTTI_KERNEL_ENTRY(climb_cuda);
