/* sdpa_cached_cpu.h - attention to a cache on the CPU, by instruction set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_CACHED_SDPA_CACHED_CPU_H
#define KERNELS_SDPA_CACHED_SDPA_CACHED_CPU_H

#include "sdpa_cached/sdpa_cached.h"
#include "tutti/isa.h"

typedef struct sdpa_cached_tensors {
    const float *q, *k, *v;
    const float *bias;       /* NULL: there is none */
    const int64_t *position; /* (T), within [0, N) */
    float *scores;           /* (threads, N) */
    float *y;
} sdpa_cached_tensors;

void sdpa_cached_run(const sdpa_cached_shape *s, const sdpa_cached_tensors *t, int threads);
TUTTI_ISA_VARIANTS(sdpa_cached_run);

#endif
