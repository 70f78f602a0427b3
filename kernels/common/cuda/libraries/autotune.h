/* autotune.h - autotuning: which of several algorithms is the fastest on this GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_AUTOTUNE_H
#define KERNELS_COMMON_CUDA_LIBRARIES_AUTOTUNE_H

#include "tutti/cuda.h"

#include <stdbool.h>

enum { CUDA_MAX_ALGORITHMS = 8, CUDA_BUFFERS_MOST = 8 };

typedef struct cuda_autotune {
    uint32_t algorithms; /* CUDA_MAX_ALGORITHMS at most */
    uint32_t buffers;
    uint64_t bytes[CUDA_BUFFERS_MOST]; /* of device memory that the algorithms want; 0: none */
    void *self;
    /* Puts the work of algorithm k on the stream; false: it cannot. */
    bool (*run)(void *self, uint32_t k, void *const *buffers, void *stream);
} cuda_autotune;

/* Algorithms take turns, each with a cold L2 cache and with its work enqueued before the GPU begins, so that the
 * GPU's time is measured and not the host's.  Another algorithm than the first has to be 3 % faster than that.
 * Memory is taken and given back.  Errors: UNSUPPORTED nothing could be measured, as when there is no
 * memory: the first algorithm is to be taken, and nothing to be kept.  [control] */
TUTTI_NODISCARD tutti_status cuda_autotune_run(const tutti_cuda_v1 *cuda,
                                               const cuda_autotune *c, uint32_t *ret_algorithm);

#endif
