/* window.h - which pixel of a larger image a pixel of a smaller one is, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRESSIVE_RESIZING_WINDOW_H
#define PROGRESSIVE_RESIZING_WINDOW_H

#include "tutti/cuda_code.h"

/* From images of (h, w) pixels to (high, wide): cut out from (top, left) on, or the nearest ones.  Rows
 * go by the widths' ratio as columns do. */
typedef struct window {
    int64_t h, w, high, wide, top, left;
} window;

TUTTI_SHARED int64_t window_row(const window *v, int32_t crop, int64_t y)
{
    return crop ? v->top + y : y * v->w / v->wide;
}

TUTTI_SHARED int64_t window_column(const window *v, int32_t crop, int64_t x)
{
    return crop ? v->left + x : x * v->w / v->wide;
}

#endif
