/* channels.h - a line for each of a few channels, small enough to travel as arguments of a kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NORMALIZE_CHANNELS_H
#define NORMALIZE_CHANNELS_H

#include "tutti/cuda_code.h"

enum { FEW_CHANNELS = 4 };

typedef struct channels_line {
    float scale[FEW_CHANNELS];
    float shift[FEW_CHANNELS];
} channels_line;

/* scale x + shift of channel c; chosen, not indexed, so that it stays in registers. */
TUTTI_SHARED float channels_at(const channels_line *line, int c, float x)
{
    const float a = c == 0   ? line->scale[0]
                    : c == 1 ? line->scale[1]
                    : c == 2 ? line->scale[2]
                             : line->scale[3];
    const float b = c == 0   ? line->shift[0]
                    : c == 1 ? line->shift[1]
                    : c == 2 ? line->shift[2]
                             : line->shift[3];
    return a * x + b;
}

#endif
