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
    const uint64_t most = w->of->limits.memory;
    const uint64_t limit = most ? most : host_memory_available();
    uint64_t all = bytes;
    for (const packed_weight *p = w->first; p; p = p->next)
        all += most || !p->pack.data ? p->pack.bytes : 0;
    return all <= limit / 4;
}

static bool is_frozen(const weight *of)
{
    return of->parameter && of->offset < 0;
}

static weight_pack *take(void *ctx, uint32_t id, const tutti_packing *packing,
                         const char *layout, uint64_t bytes)
{
    packed_weights *w = ctx;
    const weight *of = w->of->tree.weights[id];
    if (!of->parameter) /* runs write buffers */
        return NULL;
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

static weight_pack *take_for_training(void *ctx, uint32_t id, const tutti_packing *packing,
                                      const char *layout, uint64_t bytes)
{
    const packed_weights *w = ctx;
    return w->repeats || is_frozen(w->of->tree.weights[id])
               ? take(ctx, id, packing, layout, bytes)
               : NULL;
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

static uint64_t version(const void *ctx, const weight_pack *pack)
{
    const packed_weights *w = ctx;
    const uint32_t id = ((const packed_weight *)(const void *)pack)->id;
    return w->exposed ? 0 : is_frozen(w->of->tree.weights[id]) ? w->frozen_version : w->version;
}

void packed_weights_init(net *n)
{
    packed_weights *w = &n->storage.packed;
    *w = (packed_weights){
        .of = n,
        .store = {.ctx = w, .take = take, .give = give, .fill = fill, .version = version},
        .version = 1,
        .frozen_version = 1};
    w->training = w->store;
    w->training.take = take_for_training;
}

void net_repeat_training(net *n, bool repeats)
{
    n->storage.packed.repeats = repeats;
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
