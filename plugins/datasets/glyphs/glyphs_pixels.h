/* glyphs_pixels.h - strokes and grain of a drawing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_GLYPHS_PIXELS_H
#define PLUGIN_GLYPHS_PIXELS_H

#include "tutti/isa.h"
#include "tutti/rng.h"

enum { GLYPHS_SIDE = 28, GLYPHS_PIXELS = GLYPHS_SIDE * GLYPHS_SIDE };

typedef struct glyphs_point {
    float x;
    float y;
} glyphs_point;

/* Adds the ink of the segment from a to b to rows of GLYPHS_SIDE pixels: 1 within `half` of it, with a soft
 * edge one pixel wide.  In pixels. */
void glyphs_stroke(float *ink, glyphs_point a, glyphs_point b, float half);
TUTTI_ISA_VARIANTS(glyphs_stroke);

/* The sum of two uniform draws of [-1, 1) for each pixel, as tutti_stream_uniform() draws them one after the
 * other; the stream stands behind them. */
void glyphs_grain(tutti_stream *s, float *grain);
TUTTI_ISA_VARIANTS(glyphs_grain);

#endif
