/* stateful_check.h - an object's way through a checkpoint: closed, opened anew, with the items that it had. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STATEFUL_CHECK_H
#define STATEFUL_CHECK_H

#include "plugin_check.h"
#include "tutti/stateful.h"

enum { STATEFUL_ITEMS = 8 };

static inline uint32_t stateful_items(subject *s, tutti_state_item *items)
{
    const tutti_stateful_v1 *table =
        (const tutti_stateful_v1 *)subject_query(s, TUTTI_STATEFUL_V1);
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t n = 0, again = 0;
    ck_assert_ok(table->items(s->self, NULL, 0, &n, &err), err);
    ck_assert_uint_le(n, STATEFUL_ITEMS);
    ck_assert_ok(table->items(s->self, items, n, &again, &err), err);
    ck_assert_uint_eq(again, n);
    return n;
}

/* The item gets the bytes of the one of its name. */
static inline void stateful_take(tutti_state_item *item, const tutti_state_item *kept,
                                 uint32_t n)
{
    uint32_t k = 0;
    while (k < n && strcmp(kept[k].name, item->name) != 0)
        k++;
    ck_assert_msg(k < n, "the checkpoint has no %s", item->name);
    ck_assert_uint_eq(tutti_nbytes(&item->tensor.desc), tutti_nbytes(&kept[k].tensor.desc));
    memcpy(item->tensor.data, kept[k].tensor.data, tutti_nbytes(&item->tensor.desc));
}

/* A process ends, and the next one goes on from what the object has now. */
static inline void stateful_resume(subject *s, const char *path, const char *kind,
                                   const test_settings *g)
{
    const tutti_object *object = s->object;
    const service *services = (const service *)s->host.ctx;
    tutti_state_item kept[STATEFUL_ITEMS], items[STATEFUL_ITEMS];
    tutti_error err = TUTTI_ERROR_INIT;
    const uint32_t n = stateful_items(s, kept);
    for (uint32_t k = 0; k < n; k++) {
        const size_t bytes = (size_t)tutti_nbytes(&kept[k].tensor.desc);
        void *copy = malloc(bytes);
        ck_assert_ptr_nonnull(copy);
        kept[k].tensor.data = memcpy(copy, kept[k].tensor.data, bytes);
    }
    subject_close(s);
    ck_assert_ok(subject_open(s, path, kind, object->name, g, services, &err), err);
    ck_assert_uint_eq(stateful_items(s, items), n);
    for (uint32_t k = 0; k < n; k++)
        stateful_take(&items[k], kept, n);
    for (uint32_t k = 0; k < n; k++)
        free(kept[k].tensor.data);
    const tutti_stateful_v1 *table =
        (const tutti_stateful_v1 *)subject_query(s, TUTTI_STATEFUL_V1);
    if (table->restored)
        ck_assert_ok(table->restored(s->self, &err), err);
}

#endif
