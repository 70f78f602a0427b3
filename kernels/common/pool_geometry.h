/* pool_geometry.h - which elements a pooling window covers; for C and for device code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_POOL_GEOMETRY_H
#define KERNELS_COMMON_POOL_GEOMETRY_H

#include "tutti/rng.h" /* TUTTI_HD */

/* x (B, H, W, C) -> y (B, OH, OW, C) */
typedef struct pool_geometry {
    int64_t b, h, w, c;
    int64_t oh, ow;
    int64_t kh, kw, sh, sw, ph, pw;
} pool_geometry;

/* Rows [top, bottom) and columns [left, right) of x that a window covers. */
typedef struct pool_window {
    int64_t top, bottom, left, right;
} pool_window;

TUTTI_HD pool_window pool_window_at(const pool_geometry *g, int64_t i, int64_t j)
{
    const int64_t top = i * g->sh - g->ph, left = j * g->sw - g->pw;
    const pool_window w = {top < 0 ? 0 : top, top + g->kh < g->h ? top + g->kh : g->h,
                           left < 0 ? 0 : left, left + g->kw < g->w ? left + g->kw : g->w};
    return w;
}

/* First output row (or column) whose window covers `at`, and the one after the last. */
TUTTI_HD int64_t pool_first(int64_t at, int64_t kernel, int64_t stride, int64_t padding)
{
    const int64_t start = at + padding - kernel + 1;
    return start <= 0 ? 0 : (start + stride - 1) / stride;
}

TUTTI_HD int64_t pool_end(int64_t at, int64_t stride, int64_t padding, int64_t outputs)
{
    const int64_t last = (at + padding) / stride;
    return last + 1 < outputs ? last + 1 : outputs;
}

#endif
