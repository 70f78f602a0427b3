/* normalize_bytes.h - images of bytes become scaled floats. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_NORMALIZE_BYTES_H
#define PLUGIN_NORMALIZE_BYTES_H

#include "tutti/isa.h"

/* y = scale x + shift for `values` bytes, n channels beside each other with a scale and a shift each. */
void normalize_bytes(const uint8_t *restrict x, float *restrict y, int64_t values, uint32_t n,
                     const float *scale, const float *shift);
TUTTI_ISA_VARIANTS(normalize_bytes);

#endif
