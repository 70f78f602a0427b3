/* rope.h - rotary position embedding: what its device function takes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_ROPE_ROPE_H
#define KERNELS_ROPE_ROPE_H

#include <stdint.h>

/* Rows (count, t) of 2 `half` elements. */
typedef struct rope_rows {
    int64_t count, t, half;
    float sign; /* of the sine: -1 turns back */
    int32_t reserved;
} rope_rows;

#endif
