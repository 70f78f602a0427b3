/* optimizer_shards.c - optimizer state sharding (ZeRO-1): each rank has a shard of the state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/optimizer_shards.h"

#include "dist/shards.h"
#include "graph/runtime/device_memory.h"

#include <stdlib.h>
#include <string.h>

static tutti_status no_memory(int64_t numbers, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of optimizer state",
                      (unsigned long long)numbers * sizeof(float));
}

/* This rank's numbers of `whole`, n of them, in the host's memory, one behind the other at `own`, which lies with the
 * slots; or back to their places. */
static tutti_status pack(const updater *u, float *whole, int64_t n, float *own, bool back,
                         tutti_error *err)
{
    world_span span;
    tutti_status s = TUTTI_OK;
    for (int64_t at = 0; !s && world_next_own(u->world, n, &at, &span); own += span.count)
        s = device_copy(u->device, back ? whole + span.first : own,
                        back ? own : whole + span.first, (uint64_t)span.count * sizeof *own,
                        back ? TUTTI_COPY_FROM_DEVICE : TUTTI_COPY_TO_DEVICE, err);
    return s;
}

tutti_status optimizer_shards_take(updater *u, uint32_t k, const float *whole, tutti_error *err)
{
    return pack(u, (float *)(uintptr_t)whole, u->count, u->slots[k], false, err);
}

tutti_status optimizer_shards_fetch(const updater *u, uint32_t k, float **ret_here,
                                    tutti_error *err)
{
    const int64_t own = world_own(u->world, u->count);
    if (device_is_host(u->device))
        return TUTTI_OK;
    *ret_here = malloc((size_t)own * sizeof **ret_here + 1);
    return *ret_here
               ? device_copy(u->device, *ret_here, u->slots[k],
                             (uint64_t)own * sizeof **ret_here, TUTTI_COPY_FROM_DEVICE, err)
               : no_memory(own, err);
}

tutti_status optimizer_shards_collect(const updater *u, uint32_t k, const float *here,
                                      const int64_t *bounds, float *to, tutti_error *err)
{
    return world_collect_shards(u->world, here ? here : u->slots[k], u->count, bounds, to, err);
}

/* The state of every weight that is still there, from its place in the old arena to that in the new. */
static void move_weights(const updater *u, const float *from, float *to)
{
    for (uint32_t k = 0; k < net_weight_count(u->run->net); k++) {
        const int64_t there = net_offset(u->run->net, k);
        const int64_t before = net_previous_offset(u->run->net, k);
        const int64_t n = tutti_numel(&net_weight(u->run->net, k)->data.desc);
        if (there >= 0 && before >= 0 && before + n <= u->count)
            memcpy(to + there, from + before, (size_t)n * sizeof *to);
    }
}

/* Slot `k` whole on all ranks for as long as it takes. */
static tutti_status move_slot(const updater *u, uint32_t k, int64_t count, float *next,
                              tutti_error *err)
{
    float *old = calloc((size_t)u->count + 1, sizeof *old);
    float *new = calloc((size_t)count + 1, sizeof *new);
    tutti_status s = old && new ? TUTTI_OK : no_memory(u->count + count, err);
    if (!s && !(s = pack(u, old, u->count, u->slots[k], true, err)))
        s = world_gather_shards(u->world, old, u->count, err);
    if (!s) {
        move_weights(u, old, new);
        s = pack(u, new, count, next, false, err);
    }
    free(old);
    free(new);
    return s;
}

tutti_status optimizer_shards_move(updater *u, int64_t count, bool first, tutti_error *err)
{
    const int64_t own = world_own(u->world, count);
    float *next[TUTTI_OPTIMIZER_MAX_SLOTS] = {NULL};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < u->nslots && !s; k++) {
        next[k] = device_alloc(u->device, (uint64_t)(own + 16) * sizeof *next[k]);
        s = !next[k] ? no_memory(own, err)
            : first  ? TUTTI_OK
                     : move_slot(u, k, count, next[k], err);
    }
    for (uint32_t k = 0; k < u->nslots; k++) {
        device_free(u->device, s ? next[k] : u->slots[k]);
        u->slots[k] = s ? u->slots[k] : next[k];
    }
    u->count = s ? u->count : count;
    return s;
}

uint64_t optimizer_shards_bytes(const updater *u)
{
    return u->nslots * (uint64_t)world_own(u->world, u->count) * sizeof(float);
}

/* The ranges that lie in `span`, whose state begins at `state`. */
static size_t cut_one(const updater *u, world_span span, int64_t state, param_range *to)
{
    size_t n = 0;
    for (size_t k = 0; k < u->layout.nranges; k++) {
        const param_range *r = &u->layout.ranges[k];
        const int64_t first = r->first > span.first ? r->first : span.first;
        const int64_t end = r->first + r->count < span.first + span.count
                                ? r->first + r->count
                                : span.first + span.count;
        if (end <= first)
            continue;
        to[n] = *r;
        to[n].first = first;
        to[n].count = end - first;
        for (uint32_t j = 0; j < u->nslots; j++)
            to[n].state[j] =
                (state_place){state + first - span.first, {{end - first}, 1, TUTTI_F32}};
        n++;
    }
    return n;
}

tutti_status optimizer_shards_cut(updater *u, tutti_error *err)
{
    world_span span;
    size_t spans = 0, n = 0;
    int64_t state = 0;
    for (int64_t at = 0; world_next_own(u->world, u->count, &at, &span);)
        spans++;
    param_range *ranges = calloc(u->layout.nranges + spans + 1, sizeof *ranges);
    if (!ranges)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for optimizer groups");
    for (int64_t at = 0; world_next_own(u->world, u->count, &at, &span); state += span.count)
        n += cut_one(u, span, state, ranges + n);
    free(u->layout.ranges);
    u->layout.ranges = ranges;
    u->layout.nranges = n;
    return TUTTI_OK;
}
