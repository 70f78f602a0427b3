/* glyphs_pixels.c - strokes and grain of a drawing, once per instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "glyphs_pixels.h"

#include <string.h>

/* Distance from p to the segment a b. */
static float pixels_distance(glyphs_point p, glyphs_point a, glyphs_point b)
{
    const float dx = b.x - a.x, dy = b.y - a.y, px = p.x - a.x, py = p.y - a.y;
    const float length = dx * dx + dy * dy;
    float t = length > 0 ? (px * dx + py * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    const float ex = px - t * dx, ey = py - t * dy;
    return sqrtf(ex * ex + ey * ey);
}

void glyphs_stroke(float *ink, glyphs_point a, glyphs_point b, float half)
{
    const float margin = half + 1.5f;
    const int top = (int)fmaxf(0, fminf(a.y, b.y) - margin);
    const int bottom = (int)fminf(GLYPHS_SIDE - 1, fmaxf(a.y, b.y) + margin);
    for (int y = top; y <= bottom; y++)
        for (int x = 0; x < GLYPHS_SIDE; x++) {
            const glyphs_point at = {(float)x + .5f, (float)y + .5f};
            const float v = half + .5f - pixels_distance(at, a, b), most = v > 1 ? 1 : v;
            float *pixel = ink + y * GLYPHS_SIDE + x;
            *pixel = most > *pixel ? most : *pixel;
        }
}

static float pixels_between(uint32_t high, uint32_t low)
{
    return -1.0f + 2.0f * (float)tutti_uniform_f64(high, low);
}

/* A pixel has four words, as many as a block: where the stream stands amid a block, each pixel has the end of
 * one and the beginning of the next. */
void glyphs_grain(tutti_stream *s, float *grain)
{
    uint32_t words[GLYPHS_PIXELS + 1][4];
    memcpy(words[0], s->block.v, sizeof words[0]);
    for (int k = 0; k < GLYPHS_PIXELS; k++) {
        const tutti_rng4 r = tutti_rng(s->seed, s->purpose, s->step, s->index + (uint64_t)k);
        for (int w = 0; w < 4; w++)
            words[k + 1][w] = r.v[w];
    }
    const uint32_t *next = words[0] + s->used;
    for (int k = 0; k < GLYPHS_PIXELS; k++, next += 4)
        grain[k] = pixels_between(next[0], next[1]) + pixels_between(next[2], next[3]);
    memcpy(s->block.v, words[GLYPHS_PIXELS], sizeof words[0]);
    s->index += GLYPHS_PIXELS;
}
