/* measure.h - which of several ways to do something is the fastest on this GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_MEASURE_H
#define KERNELS_COMMON_CUDA_MEASURE_H

#include "tutti/cuda.h"

#include <stdbool.h>

enum { CUDA_WAYS_MOST = 8, CUDA_BUFFERS_MOST = 8 };

typedef struct cuda_contest {
    uint32_t ways; /* CUDA_WAYS_MOST at most */
    uint32_t buffers;
    uint64_t bytes[CUDA_BUFFERS_MOST]; /* of device memory that the ways want; 0: none */
    void *self;
    /* Puts the work of way k on the stream; false: it cannot. */
    bool (*run)(void *self, uint32_t k, void *const *buffers, void *stream);
} cuda_contest;

/* Ways take turns, each with a cold L2 cache and with its work enqueued before the GPU begins, so that the
 * GPU's time is measured and not the host's.  Another way than the first has to be 3 % faster than that.
 * Memory is taken and given back.  Errors: UNSUPPORTED nothing could be measured, as when there is no
 * memory: the first way is to be taken, and nothing to be kept.  [control] */
TUTTI_NODISCARD tutti_status cuda_fastest(const tutti_cuda_v1 *cuda, const cuda_contest *c,
                                          uint32_t *ret_way);

#endif
