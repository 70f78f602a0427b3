/* batch_mix.cu - samples of a microbatch blended with a permutation of them, on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_mix_step.h"
#include "pixel.h"

TUTTI_KERNEL(batch_mix_blend_cuda)
(const float *x, float *y, const uint32_t *perm, float a, float b, int64_t width, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        y[k] = batch_mix_blended(x[k], x[(int64_t)perm[k / width] * width + k % width], a, b);
    }
}
TUTTI_KERNEL_ENTRY(batch_mix_blend_cuda);

TUTTI_KERNEL(batch_mix_blend_targets_cuda)
(const uint8_t *x, float *y, const uint32_t *perm, float a, float b, int32_t kind,
 int64_t classes, int64_t width, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        y[k] = batch_mix_target_at(x, perm, a, b, kind, classes, width, k);
    }
}
TUTTI_KERNEL_ENTRY(batch_mix_blend_targets_cuda);

TUTTI_KERNEL(batch_mix_pick_cuda)
(const uint8_t *x, uint8_t *y, const uint32_t *perm, int64_t row, int64_t unit, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        pixel_copy(y + k * unit, x + pixel_picked(perm, row, k) * unit, unit);
    }
}
TUTTI_KERNEL_ENTRY(batch_mix_pick_cuda);
