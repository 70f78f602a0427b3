/* json_memory.h - whether memory was out while jansson read a text, which it tells of few of its failures. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_JSON_MEMORY_H
#define PLUGIN_JSON_MEMORY_H

#include "tutti/base.h"

#include <jansson.h>
#include <stdatomic.h>

/* How often jansson got none, in all threads.  Not by errno: jansson clears it at each number. */
static atomic_ulong json_memory_failures;
static json_malloc_t json_memory_below;

static void *json_memory_take(size_t size)
{
    void *block = json_memory_below(size);
    if (!block)
        atomic_fetch_add(&json_memory_failures, 1);
    return block;
}

/* jansson's allocations go through here from now on, and then where they went.  The loader calls constructors one
 * after the other, and the host, which keeps plugins loaded, has read JSON by then. */
__attribute__((constructor)) static void json_memory_stand_between(void)
{
    json_free_t give;
    json_get_alloc_funcs(&json_memory_below, &give);
    json_set_alloc_funcs(json_memory_take, give);
}

/* Before a text is read: what json_memory_told wants.  [any] */
TUTTI_NODISCARD static inline unsigned long json_memory_watch(void)
{
    return atomic_load(&json_memory_failures);
}

/* After it was read, or could not be: E_NOMEM where memory was out since, in this thread or another, and *root is NULL
 * then.  jansson (2.14) leaves a character out where its buffer cannot grow, so that what it gives may be another text.
 * [any] */
TUTTI_NODISCARD static inline tutti_status json_memory_told(unsigned long before, json_t **root,
                                                            const char *who, tutti_error *err)
{
    if (atomic_load(&json_memory_failures) == before)
        return TUTTI_OK;
    json_decref(*root);
    *root = NULL;
    return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", who);
}

#endif
