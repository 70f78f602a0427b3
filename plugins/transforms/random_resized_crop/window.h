/* window.h - which window of its image a sample gets, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_RESIZED_CROP_WINDOW_H
#define RANDOM_RESIZED_CROP_WINDOW_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

#include <math.h>

enum { WINDOW_TRIES = 10 };

typedef struct window_range {
    double scale[2];
    double ratio[2];
    double log_ratio[2]; /* their logarithms */
} window_range;

typedef struct window {
    int64_t top;
    int64_t left;
    int64_t height;
    int64_t width;
} window;

/* e^x out of what is the same on every device: the last bit of a library's is its own. */
TUTTI_SHARED double window_exp(double x)
{
    const double n = rint(x * 1.4426950408889634);
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.0;
    for (int k = 14; k > 0; k--)
        p = 1.0 + p * r / k;
    return ldexp(p, (int)n);
}

/* The largest window in the middle whose ratio is within its bounds. */
TUTTI_SHARED window window_middle(window_range range, int64_t height, int64_t width)
{
    const double ratio = (double)width / (double)height;
    window w = {0, 0, height, width};
    if (ratio < range.ratio[0])
        w.height = (int64_t)rint((double)width / range.ratio[0]);
    else if (ratio > range.ratio[1])
        w.width = (int64_t)rint((double)height * range.ratio[1]);
    w.height = w.height < 1 ? 1 : w.height > height ? height : w.height;
    w.width = w.width < 1 ? 1 : w.width > width ? width : w.width;
    w.top = (height - w.height) / 2;
    w.left = (width - w.width) / 2;
    return w;
}

TUTTI_SHARED double window_between(tutti_stream *s, double low, double high)
{
    return low + (high - low) * tutti_stream_uniform(s);
}

TUTTI_SHARED window window_draw(tutti_stream s, window_range range, int64_t height,
                                int64_t width)
{
    const double area = (double)height * (double)width;
    for (int k = 0; k < WINDOW_TRIES; k++) {
        const double target = area * window_between(&s, range.scale[0], range.scale[1]);
        const double ratio =
            window_exp(window_between(&s, range.log_ratio[0], range.log_ratio[1]));
        window w = {0, 0, (int64_t)rint(sqrt(target / ratio)),
                    (int64_t)rint(sqrt(target * ratio))};
        if (w.height < 1 || w.height > height || w.width < 1 || w.width > width)
            continue;
        w.top = tutti_stream_below(&s, (uint32_t)(height - w.height + 1));
        w.left = tutti_stream_below(&s, (uint32_t)(width - w.width + 1));
        return w;
    }
    return window_middle(range, height, width);
}

#endif
