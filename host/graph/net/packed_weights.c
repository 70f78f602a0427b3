/* packed_weights.c - weights packed as kernels read them, one copy for all plans. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"
#include "graph/runtime/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One weight in one layout. */
typedef struct packed_weight {
    weight_pack pack; /* the first member: what programs hold */
    struct packed_weight *next;
    const tutti_packing *packing;
    uint32_t id;
    uint32_t users; /* operands of programs */
    char layout[TUTTI_PACKED_LAYOUT];
} packed_weight;

static packed_weight *find(const packed_weights *w, uint32_t id, const tutti_packing *packing,
                           const char *layout, uint64_t bytes)
{
    packed_weight *p = w->first;
    while (p && (p->id != id || p->packing != packing || p->pack.bytes != bytes ||
                 strcmp(p->layout, layout) != 0))
        p = p->next;
    return p;
}

/* They only save time: no more than a quarter of what there is. */
static bool may_hold(const packed_weights *w, uint64_t bytes)
{
    const uint64_t limit = *w->limit ? *w->limit : host_memory_available();
    uint64_t all = bytes;
    for (const packed_weight *p = w->first; p; p = p->next)
        all += *w->limit || !p->pack.data ? p->pack.bytes : 0;
    return all <= limit / 4;
}

static weight_pack *take(void *ctx, uint32_t id, const tutti_packing *packing,
                         const char *layout, uint64_t bytes)
{
    packed_weights *w = ctx;
    packed_weight *p = find(w, id, packing, layout, bytes);
    if (!p) {
        p = may_hold(w, bytes) ? calloc(1, sizeof *p) : NULL;
        if (!p)
            return NULL;
        p->pack.bytes = bytes;
        p->next = w->first;
        p->packing = packing;
        p->id = id;
        (void)snprintf(p->layout, sizeof p->layout, "%s", layout);
        w->first = p;
    }
    p->users++;
    return &p->pack;
}

static bool fill(void *ctx, weight_pack *pack)
{
    (void)ctx;
    pack->data = host_memory_alloc(pack->bytes);
    return pack->data != NULL;
}

static void give(void *ctx, weight_pack *pack)
{
    packed_weights *w = ctx;
    packed_weight **at = &w->first;
    while (&(*at)->pack != pack)
        at = &(*at)->next;
    packed_weight *p = *at;
    if (--p->users > 0)
        return;
    *at = p->next;
    free(p->pack.data);
    free(p);
}

static uint64_t version(const void *ctx)
{
    const packed_weights *w = ctx;
    return w->exposed ? 0 : w->version;
}

void packed_weights_init(packed_weights *w, const uint64_t *limit)
{
    *w = (packed_weights){
        .store = {.ctx = w, .take = take, .give = give, .fill = fill, .version = version},
        .limit = limit,
        .version = 1};
}

uint64_t net_count_packed(const net *n, uint32_t *ret_weights)
{
    uint64_t bytes = 0;
    *ret_weights = 0;
    for (const packed_weight *p = n->storage.packed.first; p; p = p->next) {
        bytes += p->pack.data ? p->pack.bytes : 0;
        *ret_weights += p->pack.data != NULL;
    }
    return bytes;
}
