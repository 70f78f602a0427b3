/* condition.cu - a number of the device's decides which body of a graph's node is done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/cuda_code.h"

/* An image of its own: a driver that knows no conditional nodes cannot load what calls this. */
TUTTI_KERNEL(own_set_condition)(unsigned long long handle, const float *guard)
{
    cudaGraphSetConditional(handle, *guard != 0.0f);
}
TUTTI_KERNEL_ENTRY(own_set_condition);
