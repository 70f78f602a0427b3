/* noise.h - what a normal number makes of a value. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GAUSSIAN_NOISE_NOISE_H
#define GAUSSIAN_NOISE_NOISE_H

#include <math.h>
#include <stdint.h>

typedef struct noise {
    double mean, sigma; /* of values from 0 to 1 */
    int32_t clip;
    int32_t reserved;
} noise;

/* The noise loses its fraction; without clip the sum keeps its low 8 bits. */
static inline uint8_t noise_byte(const noise *n, uint8_t v, float normal)
{
    const float scaled = normal * (float)(n->sigma * 255.0);
    const float added = scaled + (float)(n->mean * 255.0);
    const int64_t sum = v + (int64_t)truncf(added);
    if (!n->clip)
        return (uint8_t)(sum & 255);
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static inline float noise_f32(const noise *n, float v, float normal)
{
    const float scaled = normal * (float)n->sigma;
    const float added = scaled + (float)n->mean;
    const float sum = v + added;
    return n->clip ? fminf(fmaxf(sum, 0.0f), 1.0f) : sum;
}

#endif
