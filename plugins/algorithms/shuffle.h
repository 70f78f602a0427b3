/* shuffle.h - a random order, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SHUFFLE_H
#define PLUGIN_SHUFFLE_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

/* A random order of 0 .. n - 1 (Fisher and Yates). */
TUTTI_SHARED void algorithm_shuffle(tutti_stream *r, uint32_t *order, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        order[k] = k;
    for (uint32_t k = n; k > 1; k--) {
        const uint32_t j = tutti_stream_below(r, k), held = order[k - 1];
        order[k - 1] = order[j];
        order[j] = held;
    }
}

#endif
