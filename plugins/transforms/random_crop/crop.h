/* crop.h - which window a sample gets and where its pixels come from, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_CROP_H
#define RANDOM_CROP_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

/* How far the window of a sample is moved down and right. */
typedef struct crop_shift {
    int64_t dy;
    int64_t dx;
} crop_shift;

TUTTI_SHARED crop_shift crop_draw(uint64_t seed, uint32_t purpose, uint64_t epoch,
                                  uint64_t index, int64_t padding)
{
    tutti_stream s = tutti_stream_at(seed, purpose, epoch, index);
    const uint32_t range = (uint32_t)(2 * padding + 1);
    crop_shift shift;
    shift.dy = (int64_t)tutti_stream_below(&s, range) - padding;
    shift.dx = (int64_t)tutti_stream_below(&s, range) - padding;
    return shift;
}

/* Source row or column of `at`; -1 outside the image with zero padding. */
TUTTI_SHARED int64_t crop_source(int32_t reflect, int64_t at, int64_t n)
{
    if (at >= 0 && at < n)
        return at;
    if (!reflect)
        return -1;
    return at < 0 ? -at : 2 * n - 2 - at;
}

#endif
