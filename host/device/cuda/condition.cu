/* condition.cu - a number of the device's decides which body of a graph's node is done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/device.cuh"

/* An image of its own: a driver that knows no conditional nodes cannot load what calls this. */
CUDA_KERNEL(own_set_condition)(unsigned long long handle, const float *guard)
{
    cudaGraphSetConditional(handle, *guard != 0.0f);
}
CUDA_ENTRY(own_set_condition);
