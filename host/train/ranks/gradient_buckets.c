/* gradient_buckets.c - bucketing: gradients bucket by bucket, ordered by when the backward pass is done with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/gradient_buckets.h"

#include "dist/shards.h"

#include <stdlib.h>

#include <xxhash.h>

static int by_step(const void *a, const void *b)
{
    const gradient_bucket *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

tutti_status buckets_make(gradient_buckets *b, const world *w, const plan *p, int64_t numbers,
                          tutti_error *err)
{
    const int64_t most = world_bucket(w);
    const uint32_t count = (uint32_t)((numbers + most - 1) / most);
    gradient_bucket *list = calloc(count + 1, sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %u buckets of gradients", count);
    for (uint32_t k = 0; k < count; k++) {
        const int64_t first = k * most, left = numbers - first;
        list[k].first = first;
        list[k].count = left < most ? left : most;
        list[k].own = world_own(w, first);
        list[k].step = plan_gradient_step(p, first, list[k].count);
    }
    qsort(list, count, sizeof *list, by_step);
    free(b->list);
    *b = (gradient_buckets){list, count};
    return TUTTI_OK;
}

void buckets_fit_plan(gradient_buckets *b, const plan *p)
{
    uint32_t step = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        const uint32_t last = plan_gradient_step(p, b->list[k].first, b->list[k].count);
        b->list[k].step = step = last > step ? last : step;
    }
}

uint64_t buckets_hash(const gradient_buckets *b, uint64_t seed)
{
    for (uint32_t k = 0; k < b->count; k++)
        seed = XXH3_64bits_withSeed(&b->list[k].first, sizeof b->list[k].first, seed);
    return seed;
}

void buckets_free(gradient_buckets *b)
{
    free(b->list);
    *b = (gradient_buckets){.list = NULL};
}
