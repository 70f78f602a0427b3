/* gradient_shards.c - gradient sharding (ZeRO-2): of gradients a rank keeps its shards, summed in rounds of slots. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/gradient_shards.h"

#include "dist/shards.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>

void gradient_shards_close(gradient_shards *r)
{
    for (uint32_t k = 0; k < r->nsums; k++)
        free(r->sums.sums[k]);
    free((void *)r->sums.sums);
    r->sums.sums = NULL;
    r->nsums = 0;
}

static tutti_status take_sums(gradient_shards *r, uint32_t count, tutti_error *err)
{
    const uint64_t bytes = ((uint64_t)r->numbers + 1) * sizeof(float);
    float **sums = realloc((void *)r->sums.sums, (count + 1) * sizeof *sums);
    r->sums.sums = sums ? sums : r->sums.sums;
    for (; sums && r->nsums < count; r->nsums++)
        if (!(sums[r->nsums] = host_memory_alloc(bytes)))
            break;
    return sums && r->nsums >= count
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients",
                            (unsigned long long)count * bytes);
}

tutti_status gradient_shards_begin(gradient_shards *r, const world *w, int64_t slots,
                                   int64_t gradients, int64_t buffers, tutti_error *err)
{
    const int32_t rank = world_rank(w);
    const int64_t own = world_own(w, gradients);
    const int64_t numbers = own + world_shard_length(w, buffers, rank);
    if (own != r->own || numbers != r->numbers)
        gradient_shards_close(r);
    r->own = own;
    r->numbers = numbers;
    r->round = 0;
    return take_sums(r, slots_waiting(slots, world_size(w)), err);
}

uint64_t gradient_shards_bytes(const gradient_shards *r)
{
    return (uint64_t)r->nsums * (uint64_t)r->numbers * sizeof(float);
}
