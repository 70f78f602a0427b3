/* flip.h - which samples are mirrored, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_FLIP_H
#define RANDOM_FLIP_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

/* With `alternate` the draw of epoch 0 counts for all even epochs, its opposite for the odd ones. */
TUTTI_SHARED int flip_draw(uint64_t seed, uint32_t purpose, uint64_t epoch, uint64_t index,
                           double p, int32_t alternate)
{
    tutti_stream s = tutti_stream_at(seed, purpose, alternate ? 0 : epoch, index);
    const int drawn = tutti_stream_uniform(&s) < p;
    return alternate && (epoch & 1) ? !drawn : drawn;
}

#endif
