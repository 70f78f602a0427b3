/* box.h - a random box in an image. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BOX_H
#define PLUGIN_BOX_H

#include "tutti/rng.h"

/* Pixels first to last - 1 of one side of an image. */
typedef struct box_side {
    int64_t first;
    int64_t last;
} box_side;

static inline int64_t box_clip(int64_t at, int64_t size)
{
    return at < 0 ? 0 : at > size ? size : at;
}

/* cut / 2 pixels to both sides of a centre, as far as they lie in an image of `size` pixels.  The
 * centre is drawn from the image's pixels; with `beyond` from those at which a box of this size
 * still touches it, so that every pixel is as likely to be inside as any other. */
static inline box_side box_draw(tutti_stream *r, int64_t size, int64_t cut, int32_t beyond)
{
    const int64_t half = cut / 2, before = beyond ? cut - half : 0, after = beyond ? half : 0;
    const int64_t centre =
        (int64_t)tutti_stream_below(r, (uint32_t)(before + size + after)) - before;
    const box_side side = {box_clip(centre - half, size), box_clip(centre + half, size)};
    return side;
}

#endif
