/* selective_backprop.cu - smaller images to select by, the choice by losses, its rows, on a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../pixel.h"
#include "order.h"
#include "scale.h"

/* x: images (h, w, channels); y: n numbers, images (high, wide, channels). */
TUTTI_KERNEL(selective_backprop_scale_cuda)
(const float *x, float *y, double scale, int64_t h, int64_t w, int64_t high, int64_t wide,
 int64_t channels, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        const int64_t column = k / channels % wide, row = k / channels / wide;
        y[k] = scale_value(x + row / high * h * w * channels, w, channels, k % channels,
                           scale_at(row % high, scale, h), scale_at(column, scale, w));
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_scale_cuda);

/* How many of n losses come before each.  Batches are small: everybody looks at all. */
TUTTI_KERNEL(selective_backprop_rank_cuda)
(const float *losses, uint32_t *order, uint32_t *rank, int64_t n)
{
    (void)order;
    TUTTI_EACH(j, n)
    {
        const float mine = losses[j];
        uint32_t before = 0;
        for (int64_t i = 0; i < n; i++)
            before += (uint32_t)order_before(losses[i], i, mine, j);
        rank[j] = before;
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_rank_cuda);

/* The samples whose rank is chosen, ascending. */
TUTTI_KERNEL(selective_backprop_choose_cuda)
(const uint32_t *rank, const uint32_t *chosen, uint32_t *picked, int64_t n)
{
    TUTTI_EACH(j, n)
    {
        uint32_t at = 0;
        if (!chosen[rank[j]])
            continue;
        for (int64_t i = 0; i < j; i++)
            at += chosen[rank[i]];
        picked[at] = (uint32_t)j;
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_choose_cuda);

/* y: n units of `unit` bytes, `row` of them a sample. */
TUTTI_KERNEL(selective_backprop_pick_cuda)
(const uint8_t *x, uint8_t *y, const uint32_t *picked, int64_t row, int64_t unit, int64_t n)
{
    TUTTI_EACH(k, n)
    {
        pixel_copy(y + k * unit, x + pixel_picked(picked, row, k) * unit, unit);
    }
}
TUTTI_KERNEL_ENTRY(selective_backprop_pick_cuda);
