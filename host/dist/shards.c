/* shards.c - arrays that are sharded over the ranks, of every bucket a shard each: all-gather, and other bounds (resharding). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/shards.h"
#include "dist/world_internal.h"

#include <stdlib.h>
#include <string.h>

int64_t world_own(const world *w, int64_t n)
{
    const int64_t most = world_bucket(w);
    const int32_t rank = w->info.rank;
    int64_t own = 0;
    for (int64_t first = 0; first < n; first += most) {
        const int64_t length = n - first < most ? n - first : most;
        own += world_shard_length(w, length, rank);
    }
    return own;
}

bool world_next_own(const world *w, int64_t n, int64_t *at, world_span *ret_span)
{
    const int64_t most = world_bucket(w);
    while (*at < n) {
        const int64_t length = n - *at < most ? n - *at : most;
        const int64_t first = world_shard_begin(w, length, w->info.rank);
        const int64_t count = world_shard_length(w, length, w->info.rank);
        *ret_span = (world_span){*at + first, count};
        *at += length;
        if (count > 0)
            return true;
    }
    return false;
}

/* What an operation on the shards of one bucket is told: the offsets and bytes of tutti_parts. */
typedef struct shard_parts {
    uint64_t *offsets, *bytes; /* by rank */
} shard_parts;

static tutti_status parts_take(const world *w, shard_parts *p, tutti_error *err)
{
    p->offsets = calloc(2 * (size_t)w->info.size, sizeof *p->offsets);
    p->bytes = p->offsets ? p->offsets + w->info.size : NULL;
    return p->offsets ? TUTTI_OK
                      : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
}

tutti_status world_gather_shards(world *w, float *data, int64_t n, tutti_error *err)
{
    const int64_t most = world_bucket(w);
    tutti_status s = TUTTI_OK;
    if (w->info.size == 1)
        return TUTTI_OK;
    background_drain(&w->background);
    for (int64_t first = 0; first < n && !s; first += most) {
        WORLD_COUNT(w->counts.blocking, 1);
        s = world_note(w,
                       world_gather_piece(w, data + first, n - first < most ? n - first : most,
                                          sizeof *data, err));
    }
    return s;
}

/* What of [first, first + count) lies in [from, to), as a span; empty ones begin at `first`. */
static world_span overlap(int64_t first, int64_t count, int64_t from, int64_t to)
{
    const int64_t begin = first > from ? first : from;
    const int64_t end = first + count < to ? first + count : to;
    return begin < end ? (world_span){begin, end - begin} : (world_span){first, 0};
}

/* Bytes of `span`, counted from number `from`. */
static void part_set(const shard_parts *p, int32_t rank, world_span span, int64_t from)
{
    p->bytes[rank] = (uint64_t)span.count * sizeof(float);
    p->offsets[rank] = span.count ? (uint64_t)(span.first - from) * sizeof(float) : 0;
}

/* Numbers [at, at + n), a bucket: this rank's shard goes to the ranks within whose bounds it lies. */
static tutti_status collect_one(world *w, int64_t at, int64_t n, const int64_t *bounds,
                                const shard_parts p[2], const float *mine, float *to,
                                tutti_error *err)
{
    const int32_t rank = w->info.rank;
    const int64_t own = at + world_shard_begin(w, n, rank),
                  end = at + world_shard_begin(w, n, rank + 1);
    for (int32_t r = 0; r < w->info.size; r++) {
        const int64_t first = at + world_shard_begin(w, n, r);
        const int64_t count = world_shard_length(w, n, r);
        part_set(&p[0], r, overlap(own, end - own, bounds[r], bounds[r + 1]), own);
        part_set(&p[1], r, overlap(first, count, bounds[rank], bounds[rank + 1]), bounds[rank]);
    }
    const tutti_parts out = {.struct_size = sizeof out,
                             .data = (void *)(uintptr_t)mine,
                             .offsets = p[0].offsets,
                             .bytes = p[0].bytes};
    const tutti_parts in = {
        .struct_size = sizeof in, .data = to, .offsets = p[1].offsets, .bytes = p[1].bytes};
    return world_all_to_all(w, &out, &in, err);
}

tutti_status world_collect_shards(world *w, const float *mine, int64_t n, const int64_t *bounds,
                                  float *to, tutti_error *err)
{
    const int64_t most = world_bucket(w);
    shard_parts p[2] = {{NULL, NULL}, {NULL, NULL}};
    if (w->info.size == 1) {
        memcpy(to, mine, (size_t)n * sizeof *to);
        return TUTTI_OK;
    }
    background_drain(&w->background);
    tutti_status s = parts_take(w, &p[0], err);
    if (!s)
        s = parts_take(w, &p[1], err);
    for (int64_t at = 0; at < n && !s; at += most) {
        const int64_t length = n - at < most ? n - at : most;
        WORLD_COUNT(w->counts.blocking, 1);
        s = collect_one(w, at, length, bounds, p, mine, to, err);
        mine += world_shard_length(w, length, w->info.rank);
    }
    free(p[0].offsets);
    free(p[1].offsets);
    return s;
}
