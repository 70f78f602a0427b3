/* contents_shards.c - which rank writes which weights and their optimizer state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/contents_shards.h"

#include "train/update/optimizer_state.h"

#include <stdlib.h>
#include <string.h>

/* A weight of the net, at its place in the arena; -1 for what is not trained. */
typedef struct place {
    int64_t at;
    uint32_t weight;
    uint32_t reserved;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->weight < y->weight ? -1 : x->weight > y->weight;
}

/* Of a weight and its optimizer state. */
static uint64_t weight_bytes(const updater *u, const place *p)
{
    const tutti_weight *w = net_weight(u->run->net, p->weight);
    return tutti_nbytes(&w->data.desc) + (p->at < 0 ? 0 : state_bytes_of(u, p->weight));
}

/* Each weight goes to the rank in whose part of all bytes its middle lies. */
static void divide(const updater *u, const place *places, uint32_t n, int32_t size,
                   contents_shards *p)
{
    uint64_t all = 1, before = 0;
    for (uint32_t k = 0; k < n; k++)
        all += weight_bytes(u, &places[k]);
    for (uint32_t k = n; k-- > 0;) {
        const uint64_t bytes = weight_bytes(u, &places[k]);
        const double middle = 1.0 - ((double)before + (double)bytes / 2) / (double)all;
        const int32_t rank = (int32_t)(middle * size);
        p->ranks[places[k].weight] = rank < size ? rank : size - 1;
        for (int32_t r = 1; r <= p->ranks[places[k].weight] && places[k].at >= 0; r++)
            p->bounds[r] = places[k].at;
        before += bytes;
    }
}

tutti_status contents_shards_make(const updater *u, const world *w, bool sharded,
                                  contents_shards *ret, tutti_error *err)
{
    const int32_t size = w ? world_size(w) : 1;
    const uint32_t n = u->run->net ? net_weight_count(u->run->net) : 0;
    place *places = calloc((size_t)n + 1, sizeof *places);
    ret->mine = w ? world_rank(w) : 0;
    ret->ranks = calloc((size_t)n + 1, sizeof *ret->ranks);
    ret->bounds = calloc((size_t)size + 1, sizeof *ret->bounds);
    const bool there = places && ret->ranks && ret->bounds;
    for (uint32_t k = 0; there && k < n; k++)
        places[k] = (place){.at = net_offset(u->run->net, k), .weight = k};
    for (int32_t r = 1; there && r <= size; r++)
        ret->bounds[r] = u->count;
    if (there && sharded) {
        qsort(places, n, sizeof *places, by_place);
        divide(u, places, n, size, ret);
    }
    free(places);
    return there
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a checkpoint of %u weights", n);
}

void contents_shards_fini(contents_shards *p)
{
    free(p->ranks);
    free(p->bounds);
    *p = (contents_shards){.ranks = NULL};
}

int64_t contents_shards_own(const contents_shards *p)
{
    return p->bounds[p->mine + 1] - p->bounds[p->mine];
}
