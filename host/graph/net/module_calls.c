/* module_calls.c - two growing arrays: calls, and their values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/module_calls.h"

#include <stdlib.h>
#include <string.h>

static bool grow(void *array, uint32_t want, uint32_t *capacity, size_t size)
{
    if (want <= *capacity)
        return true;
    const uint32_t more = 2 * want + 32;
    void *grown = realloc(*(void **)array, more * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *capacity = more;
    return true;
}

void module_calls_add(module_calls *c, tutti_module m, const tutti_value *in, uint32_t nin,
                      const tutti_value *out, uint32_t nout)
{
    c->failed =
        c->failed || !grow(&c->items, c->count + 1, &c->capacity, sizeof *c->items) ||
        !grow(&c->values, c->nvalues + nin + nout, &c->values_capacity, sizeof *c->values);
    if (c->failed)
        return;
    c->items[c->count++] = (module_call){m, nin, nout, c->nvalues};
    memcpy(c->values + c->nvalues, in, nin * sizeof *in);
    memcpy(c->values + c->nvalues + nin, out, nout * sizeof *out);
    c->nvalues += nin + nout;
}

void module_calls_fini(module_calls *c)
{
    free(c->items);
    free(c->values);
    *c = (module_calls){.items = NULL};
}
