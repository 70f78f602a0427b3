/* all_to_all.c - what a reduce-scatter is made of: where the shards of a bucket begin, and the all-to-all that moves them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

#include <stdlib.h>

tutti_status world_reserve(world_memory *m, uint64_t numbers, tutti_error *err)
{
    const uint64_t bytes = numbers * sizeof(float);
    if (numbers <= m->capacity)
        return TUTTI_OK;
    free(m->data);
    m->data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    m->capacity = m->data ? numbers : 0;
    return m->data ? TUTTI_OK
                   : tutti_fail(err, TUTTI_E_NOMEM,
                                "no memory for %llu bytes of gradients under way",
                                (unsigned long long)bytes);
}

int64_t world_shard_begin(const world *w, int64_t n, int32_t rank)
{
    const int64_t unit =
        n / w->info.size < PAGES_EVEN * PAGE_NUMBERS ? SHARD_UNIT : PAGE_NUMBERS;
    const int64_t units = (n + unit - 1) / unit;
    const int64_t first = units * rank / w->info.size * unit;
    return first < n ? first : n;
}

int64_t world_shard_length(const world *w, int64_t n, int32_t rank)
{
    return world_shard_begin(w, n, rank + 1) - world_shard_begin(w, n, rank);
}

tutti_status world_all_to_all(world *w, const tutti_parts *out, const tutti_parts *in,
                              tutti_error *err)
{
    uint64_t request = 0;
    world_count_sent(w, out);
    instance_call c = instance_enter(w->options.comm, "all_to_all");
    tutti_status s = w->table->all_to_all(w->self, out, in, &request, err);
    if (!s)
        s = w->table->wait(w->self, request, err);
    instance_leave(&c);
    return world_note(w, s);
}
