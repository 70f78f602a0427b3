/* wire.c - numbers of a piece as they travel: f32, or the upper 16 bits of numbers that have no more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include "tutti/half.h"

#include <string.h>

uint64_t wire_unit(const world_piece *one)
{
    return one->half ? sizeof(uint16_t) : sizeof(float);
}

void wire_put(const world_piece *one, void *to, uint64_t at, const float *from, int64_t n)
{
    const uint64_t unit = wire_unit(one);
    char *place = (char *)to + at * unit;
    if (!from)
        memset(place, 0, (size_t)n * unit);
    else if (!one->half)
        memcpy(place, from, (size_t)n * unit);
    else
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)(void *)place)[i] = tutti_to_bf16(from[i]);
}

/* The second half of the numbers' place, so that they can be opened from the first one on. */
void *wire_place(const world_piece *one, float *numbers, uint64_t n)
{
    return one->half ? (char *)numbers + n * sizeof(uint16_t) : (void *)numbers;
}

void wire_open(const world_piece *one, float *numbers, uint64_t n)
{
    if (one->half)
        wire_read(wire_place(one, numbers, n), numbers, (int64_t)n);
}

void wire_read(const void *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t upper;
        memcpy(&upper, (const char *)from + 2 * i, sizeof upper);
        const uint32_t bits = (uint32_t)upper << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}
