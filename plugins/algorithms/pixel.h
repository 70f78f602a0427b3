/* pixel.h - some bytes copied by one thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PIXEL_H
#define PLUGIN_PIXEL_H

#include "tutti/cuda_code.h"

/* Where the size is a multiple of 4 so are both places. */
TUTTI_SHARED void pixel_copy(uint8_t *to, const uint8_t *from, int64_t bytes)
{
    if (bytes % 4 == 0)
        for (int64_t k = 0; k < bytes / 4; k++)
            ((uint32_t *)to)[k] = ((const uint32_t *)from)[k];
    else
        for (int64_t k = 0; k < bytes; k++)
            to[k] = from[k];
}

/* Unit k of rows of `row` units, of which row order[0], then order[1] ... are picked. */
TUTTI_SHARED int64_t pixel_picked(const uint32_t *order, int64_t row, int64_t k)
{
    return (int64_t)order[k / row] * row + k % row;
}

#endif
