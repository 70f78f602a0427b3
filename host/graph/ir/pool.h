/* pool.h - memory that is given out in pieces, never moves and is freed at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_IR_POOL_H
#define HOST_GRAPH_IR_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define POOL_ALIGN 64

typedef struct pool_chunk {
    struct pool_chunk *next;
    size_t size;
    size_t used;
} pool_chunk;

typedef struct pool {
    pool_chunk *head;
} pool;

/* `size` zeroed bytes, 64-byte aligned; NULL when out of memory. */
static inline void *pool_take(pool *p, size_t size)
{
    const size_t capacity = (size + POOL_ALIGN) / POOL_ALIGN * POOL_ALIGN;
    if (!p->head || p->head->size - p->head->used < capacity) {
        const size_t body = capacity > 16384 ? capacity : 16384;
        pool_chunk *c = aligned_alloc(POOL_ALIGN, POOL_ALIGN + body);
        if (!c)
            return NULL;
        c->next = p->head;
        c->size = body;
        c->used = 0;
        p->head = c;
    }
    void *bytes = (unsigned char *)p->head + POOL_ALIGN + p->head->used;
    p->head->used += capacity;
    return memset(bytes, 0, capacity);
}

static inline size_t pool_bytes(const pool *p)
{
    size_t sum = 0;
    for (const pool_chunk *c = p->head; c; c = c->next)
        sum += POOL_ALIGN + c->size;
    return sum;
}

static inline void pool_free(pool *p)
{
    while (p->head) {
        pool_chunk *next = p->head->next;
        free(p->head);
        p->head = next;
    }
}

#endif
