/* flip.h - which samples are mirrored, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_FLIP_H
#define RANDOM_FLIP_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

TUTTI_SHARED int flip_draw(uint64_t seed, uint32_t purpose, uint64_t epoch, uint64_t index,
                           double p)
{
    tutti_stream s = tutti_stream_at(seed, purpose, epoch, index);
    return tutti_stream_uniform(&s) < p;
}

#endif
