/* sdpa_drop.c - dropout of attention's probabilities, a row of a tile at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

enum { BLOCKS = SDPA_TILE / 4 + 1 };

/* The draws of all blocks come first, in a loop that vectorises. */
void sdpa_drop_row(const sdpa_shape *s, int64_t head, int64_t i, int64_t j, int64_t n, float *p)
{
    const uint64_t first = (uint64_t)((head * s->tq + i) * s->tk + j);
    const float keep = (float)s->keep;
    const uint32_t *kept;
    uint32_t bits[4 * BLOCKS];
    OP_LOOP for (int b = 0; b < BLOCKS; b++)
    {
        const tutti_rng4 r = tutti_rng(s->seed, s->purpose, s->number, first / 4 + (uint64_t)b);
        bits[4 * b] = r.v[0];
        bits[4 * b + 1] = r.v[1];
        bits[4 * b + 2] = r.v[2];
        bits[4 * b + 3] = r.v[3];
    }
    kept = bits + first % 4;
    OP_LOOP for (int64_t k = 0; k < n; k++)
    {
        p[k] = tutti_uniform_f32(kept[k]) >= s->drop ? p[k] * keep : 0.0f;
    }
}
