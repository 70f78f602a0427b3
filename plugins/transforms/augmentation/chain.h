/* chain.h - changes of pictures in the host's memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUGMENTATION_CHAIN_H
#define AUGMENTATION_CHAIN_H

#include "../common/image_ops.h"
#include "change.h"

/* Memory for one picture of n values. */
typedef struct chain_memory {
    float *sum;
    uint8_t *scratch;
} chain_memory;

/* y = x through a chain of d->depth changes.  Both are pictures of one size. */
void chain_rand(const augmentation_draws *d, tutti_stream r, const uint8_t *x, const picture *y,
                chain_memory m);
/* y = (1 - m) x + m (share_1 chain_1(x) + ...), m ~ Beta(alpha, alpha). */
void chain_mix(const augmentation_draws *d, tutti_stream r, const uint8_t *x, const picture *y,
               chain_memory m);

#endif
