/* numpy_rng.h - the numbers of NumPy's default_rng: PCG64 behind a SeedSequence, and what Generator makes of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_NUMPY_RNG_H
#define PLUGIN_MDS_NUMPY_RNG_H

#include "tutti/base.h"

__extension__ typedef unsigned __int128 numpy_u128;

/* One generator; its owner's alone. */
typedef struct numpy_rng {
    numpy_u128 state;
    numpy_u128 increment;
    uint32_t half; /* the upper half of the last 64 bits, for the next 32 */
    int32_t has_half;
} numpy_rng;

/* numpy.random.default_rng(seed) */
void numpy_rng_init(numpy_rng *r, uint64_t seed);
/* A number from 0 to `last`, as random_bounded_uint64 without a mask: integers(0, last + 1). */
uint64_t numpy_rng_below(numpy_rng *r, uint64_t last);
/* integers(low, high), high left out; low < high */
int64_t numpy_rng_integer(numpy_rng *r, int64_t low, int64_t high);
/* uniform(low, high) */
double numpy_rng_uniform(numpy_rng *r, double low, double high);
/* shuffle(items): `count` of `size` bytes each, at most NUMPY_RNG_ITEM */
enum { NUMPY_RNG_ITEM = 32 };
void numpy_rng_shuffle(numpy_rng *r, void *items, int64_t count, size_t size);
/* permutation(count), into `ret` */
void numpy_rng_permutation(numpy_rng *r, int64_t count, int64_t *ret);
/* choice(count, chosen, replace=False), into `ret`; chosen <= count.  Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status numpy_rng_choice(numpy_rng *r, int64_t count, int64_t chosen,
                                              int64_t *ret, tutti_error *err);

#endif
