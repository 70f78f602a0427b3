/* sample.h - drawing a token from logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GENERATE_SAMPLE_H
#define GENERATE_SAMPLE_H

#include <stdint.h>

/* A token below `n` drawn from softmax(logits / temperature) over the top_k largest and their equals
 * (0: all), by `uniform` in [0, 1); temperature 0: the first of the largest.  `scratch` has room for n.
 * -1 when a logit is a NaN or the largest is infinite. */
int64_t sample_token(const float *logits, int64_t n, double temperature, int64_t top_k,
                     double uniform, float *scratch);

#endif
