/* weight_draws.h - first values of weights, as many at a time as vector registers hold. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_NET_WEIGHT_DRAWS_H
#define HOST_GRAPH_NET_WEIGHT_DRAWS_H

#include "tutti/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEIGHT_DRAWS = 64 }; /* values of one call: two of each block of random words */

/* A value is shift + scale * draw, where the draw is normal or uniform in [0, 1), or 2 * uniform - 1. */
typedef struct weight_recipe {
    double shift, scale;
    bool normal, centred;
    bool shifted; /* else shift is 0, and not added */
} weight_recipe;

/* Writes what first_values_draw() defines for the WEIGHT_DRAWS elements of blocks `block` and after, as floats.  Results are
 * computed in f64 by other means than the definition, and rounded where its error cannot matter.  false: a value lies so near to
 * the middle between two floats that it can; `to` is then to be drawn by the definition (once in some 9,000 calls). */
bool weight_draws(const weight_recipe *r, uint64_t seed, uint64_t key, uint64_t block,
                  float *to);

TUTTI_ISA_VARIANTS(weight_draws);

#endif
