/* arena.c - the arena's allocator: packs intervals of time and size into one block of memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/arena.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>

static bool alive_together(const arena_interval *a, const arena_interval *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Larger first; equal sizes in the order given, so that the layout is always the same. */
static int by_size(const void *x, const void *y)
{
    const arena_interval *a = *(arena_interval *const *)x, *b = *(arena_interval *const *)y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a > b) - (a < b);
}

/* Puts `v` at the lowest offset that none of placed[0..n), sorted by offset, forbids. */
static void place(arena_interval *v, arena_interval *const *placed, uint32_t n)
{
    uint64_t offset = 0;
    for (uint32_t k = 0; k < n; k++) {
        const arena_interval *p = placed[k];
        if (!alive_together(v, p))
            continue;
        if (p->offset >= offset + v->bytes)
            break;
        const uint64_t end = bytes_round(p->offset + p->bytes);
        offset = end > offset ? end : offset;
    }
    v->offset = offset;
}

tutti_status arena_pack(arena_interval *intervals, uint32_t n, uint64_t *ret_bytes,
                        tutti_error *err)
{
    arena_interval **order = calloc((size_t)n + 1, sizeof(arena_interval *));
    arena_interval **placed = calloc((size_t)n + 1, sizeof(arena_interval *));
    tutti_status s = TUTTI_OK;
    uint64_t total = 0;
    if (!order || !placed) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the arena's map");
        goto done;
    }
    for (uint32_t k = 0; k < n; k++)
        order[k] = &intervals[k];
    qsort(order, n, sizeof(arena_interval *), by_size);
    for (uint32_t k = 0; k < n; k++) {
        arena_interval *v = order[k];
        place(v, placed, k);
        uint32_t at = k;
        for (; at > 0 && placed[at - 1]->offset > v->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = v;
        const uint64_t end = bytes_round(v->offset + v->bytes);
        total = end > total ? end : total;
    }
    *ret_bytes = total;
done:
    free(order);
    free(placed);
    return s;
}

bool arena_overlap(const arena_interval *intervals, uint32_t n, uint32_t *ret_a,
                   uint32_t *ret_b)
{
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            const arena_interval *x = &intervals[a], *y = &intervals[b];
            if (alive_together(x, y) && x->offset < y->offset + y->bytes &&
                y->offset < x->offset + x->bytes) {
                *ret_a = a;
                *ret_b = b;
                return true;
            }
        }
    return false;
}
