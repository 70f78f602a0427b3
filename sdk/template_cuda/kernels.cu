/* kernels.cu - weight_pull on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pull.h"

/* w (n); the arguments are those of the kernel "pull" in plugin.json. */
TUTTI_KERNEL(weight_pull_cuda)(float *w, float rate, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        w[k] = pulled(w[k], rate);
    }
}
TUTTI_KERNEL_ENTRY(weight_pull_cuda);
