/* handlers.c - lists of functions that hear events. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/handlers/handlers.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    uint64_t handle;
    handler_fn fn;
    void *ctx;
    filter filter;
    bool filtered;
    bool removed; /* freed once no firing of its event is under way */
    int on_error;
    int64_t once[]; /* the filter's */
} entry;

typedef struct entry_list {
    entry **items;
    size_t count;
    size_t capacity;
    size_t live;
    int firing; /* how many firings are under way, one inside the other */
} entry_list;

struct handlers {
    uint64_t latest;
    entry_list lists[HANDLERS_EVENTS];
};

tutti_status handlers_create(handlers **ret_handlers, tutti_error *err)
{
    handlers *h = calloc(1, sizeof *h);
    if (!h)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for lists of handlers");
    *ret_handlers = h;
    return TUTTI_OK;
}

void handlers_destroy(handlers *h)
{
    for (int32_t event = 0; h && event < HANDLERS_EVENTS; event++) {
        for (size_t k = 0; k < h->lists[event].count; k++)
            free(h->lists[event].items[k]);
        free(h->lists[event].items);
    }
    free(h);
}

/* Room for one more, so that adding it cannot fail. */
static tutti_status grow(entry_list *l, tutti_error *err)
{
    if (l->count < l->capacity)
        return TUTTI_OK;
    const size_t capacity = l->capacity ? 2 * l->capacity : 4;
    entry **items = realloc(l->items, capacity * sizeof(*items));
    if (!items)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a handler");
    l->items = items;
    l->capacity = capacity;
    return TUTTI_OK;
}

static tutti_status append(entry_list *l, const entry *like, tutti_error *err)
{
    const filter *f = &like->filter;
    const tutti_status s = grow(l, err);
    if (s)
        return s;
    entry *e = calloc(1, sizeof *e + f->nonce * sizeof *e->once);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a handler");
    *e = *like;
    if (f->nonce)
        memcpy(e->once, f->once, f->nonce * sizeof *e->once);
    e->filter.once = f->nonce ? e->once : NULL;
    l->items[l->count++] = e;
    l->live++;
    return TUTTI_OK;
}

tutti_status handlers_add(handlers *h, const heard *events, size_t n, handler_fn fn, void *ctx,
                          int on_error, uint64_t *ret_handle, tutti_error *err)
{
    if (n == 0)
        return tutti_fail(err, TUTTI_E_ARG, "a handler has no event to hear");
    for (size_t k = 0; k < n; k++) {
        if (events[k].event < 0 || events[k].event >= HANDLERS_EVENTS)
            return tutti_fail(err, TUTTI_E_ARG, "%d is no event", (int)events[k].event);
        const tutti_status s = filter_check(&events[k].filter, err);
        if (s)
            return s;
    }
    const uint64_t handle = ++h->latest;
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < n && !s; k++) {
        const entry like = {.handle = handle,
                            .fn = fn,
                            .ctx = ctx,
                            .filter = events[k].filter,
                            .filtered = filter_is_set(&events[k].filter),
                            .on_error = on_error};
        s = append(&h->lists[events[k].event], &like, err);
    }
    if (s) {
        (void)handlers_remove(h, handle);
        return s;
    }
    if (ret_handle)
        *ret_handle = handle;
    return TUTTI_OK;
}

/* Frees removed handlers, unless a firing still iterates over the list. */
static void free_removed(entry_list *l)
{
    if (l->firing || l->live == l->count)
        return;
    size_t kept = 0;
    for (size_t k = 0; k < l->count; k++) {
        if (l->items[k]->removed)
            free(l->items[k]);
        else
            l->items[kept++] = l->items[k];
    }
    l->count = kept;
}

static void drop(entry_list *l, entry *e)
{
    e->removed = true;
    l->live--;
}

bool handlers_remove(handlers *h, uint64_t handle)
{
    bool found = false;
    for (int32_t event = 0; event < HANDLERS_EVENTS; event++) {
        entry_list *l = &h->lists[event];
        for (size_t k = 0; k < l->count; k++)
            if (l->items[k]->handle == handle && !l->items[k]->removed) {
                drop(l, l->items[k]);
                found = true;
            }
        free_removed(l);
    }
    return found;
}

static bool is_event(int32_t event)
{
    return event >= 0 && event < HANDLERS_EVENTS;
}

size_t handlers_remove_all(handlers *h, int32_t event, handler_fn fn, const void *ctx)
{
    size_t found = 0;
    if (!is_event(event))
        return 0;
    entry_list *l = &h->lists[event];
    for (size_t k = 0; k < l->count; k++)
        if (l->items[k]->fn == fn && l->items[k]->ctx == ctx && !l->items[k]->removed) {
            drop(l, l->items[k]);
            found++;
        }
    free_removed(l);
    return found;
}

bool handlers_has(const handlers *h, int32_t event, handler_fn fn, const void *ctx)
{
    for (int32_t k = 0; k < HANDLERS_EVENTS; k++) {
        const entry_list *l = &h->lists[k];
        for (size_t j = 0; j < l->count && (event < 0 || event == k); j++)
            if (l->items[j]->fn == fn && l->items[j]->ctx == ctx && !l->items[j]->removed)
                return true;
    }
    return false;
}

size_t handlers_count(const handlers *h, int32_t event)
{
    return is_event(event) ? h->lists[event].live : 0;
}

static tutti_status call(entry_list *l, entry *e, const int64_t *counts, const void *firing,
                         tutti_error *err)
{
    if (e->filtered) {
        if (!counts)
            return tutti_fail(err, TUTTI_E_STATE,
                              "a handler has a filter on an event that counts nothing");
        const int32_t passes = filter_passes(&e->filter, *counts, err);
        if (passes <= 0)
            return passes;
    }
    if (e->removed) /* by its own filter */
        return TUTTI_OK;
    if (e->on_error == HANDLER_STOP)
        return e->fn(e->ctx, firing, err);
    if (e->fn(e->ctx, firing, NULL) && e->on_error == HANDLER_DISABLE && !e->removed)
        drop(l, e);
    return TUTTI_OK;
}

tutti_status handlers_fire(handlers *h, int32_t event, const int64_t *counts,
                           const void *firing, tutti_error *err)
{
    entry_list *l = &h->lists[event];
    tutti_status s = TUTTI_OK;
    l->firing++;
    for (size_t k = 0; k < l->count && !s; k++)
        if (!l->items[k]->removed)
            s = call(l, l->items[k], counts, firing, err);
    l->firing--;
    free_removed(l);
    return s;
}
