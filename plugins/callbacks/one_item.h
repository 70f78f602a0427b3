/* one_item.h - callbacks that keep one tensor in checkpoints, which older ones do not have. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ONE_ITEM_H
#define ONE_ITEM_H

#include "tutti/stateful.h"

#include <stdio.h>
#include <string.h>

/* The item of that name, where the caller has room for it. */
static inline void one_item(const char *name, void *data, tutti_desc desc,
                            tutti_state_item *items, uint32_t capacity, uint32_t *ret_count)
{
    *ret_count = 1;
    if (capacity < 1)
        return;
    memset(items, 0, sizeof *items);
    (void)snprintf(items->name, sizeof items->name, "%s", name);
    items->tensor = (tutti_tensor){.data = data, .desc = desc, .device = TUTTI_DEVICE_CPU};
}

/* Defines callback_query, for a plugin's table: its instances, of type_, keep member_ under its name; what follows are
 * members of the tensor's tutti_desc. */
#define CALLBACK_KEEPS(type_, member_, ...)                                                    \
    static tutti_status callback_items(void *self, tutti_state_item *items, uint32_t capacity, \
                                       uint32_t *ret_count, tutti_error *err)                  \
    {                                                                                          \
        (void)err;                                                                             \
        one_item(#member_, &((type_ *)self)->member_, (tutti_desc){__VA_ARGS__}, items,        \
                 capacity, ret_count);                                                         \
        return TUTTI_OK;                                                                       \
    }                                                                                          \
    static const void *callback_query(void *self, const char *interface_id)                    \
    {                                                                                          \
        static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,             \
                                                   .items = callback_items,                    \
                                                   .flags = TUTTI_STATEFUL_MAY_BE_NEW};        \
        (void)self;                                                                            \
        return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;                \
    }

#endif
