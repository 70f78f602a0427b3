/* jitter.h - what a sample draws, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLOR_JITTER_JITTER_H
#define COLOR_JITTER_JITTER_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, CHANGES };

typedef struct jitter_range {
    double of[CHANGES]; /* 0: off */
} jitter_range;

typedef struct jitter_draw {
    int32_t order[CHANGES];
    double by[CHANGES]; /* a factor, or a turn of the hue */
} jitter_draw;

/* Whether a sample is changed: of a stream of its own, so that p does not move the other draws. */
TUTTI_SHARED int jitter_applies(uint64_t seed, uint32_t p_purpose, uint64_t epoch,
                                uint64_t index, double p)
{
    tutti_stream s = tutti_stream_at(seed, p_purpose, epoch, index);
    return tutti_stream_uniform(&s) < p;
}

/* The draws are those of all four changes, whichever are on, so that one does not move the others. */
TUTTI_SHARED jitter_draw jitter_draws(tutti_stream s, jitter_range range)
{
    jitter_draw d = {{BRIGHTNESS, CONTRAST, SATURATION, HUE}, {0.0, 0.0, 0.0, 0.0}};
    for (uint32_t i = CHANGES; i > 1; i--) {
        const uint32_t other = tutti_stream_below(&s, i);
        const int32_t swap = d.order[i - 1];
        d.order[i - 1] = d.order[other];
        d.order[other] = swap;
    }
    for (int i = 0; i < CHANGES; i++) {
        const double mid = i == HUE ? 0.0 : 1.0, least = mid - range.of[i];
        const double low = i != HUE && least < 0.0 ? 0.0 : least, high = mid + range.of[i];
        d.by[i] = low + (high - low) * tutti_stream_uniform(&s);
    }
    return d;
}

TUTTI_SHARED uint8_t jitter_turn(double by)
{
    return (uint8_t)(int)(by * 255.0);
}

#endif
