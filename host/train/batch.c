/* batch.c - the columns of the current batch, and replacing them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <stdlib.h>
#include <string.h>

void batch_load(batch *b, const tutti_column *names, const tutti_tensor *columns, uint32_t n)
{
    b->ncolumns = n;
    for (uint32_t k = 0; k < n; k++) {
        memcpy(b->columns[k].name, names[k].name, sizeof b->columns[k].name);
        b->columns[k].now = columns[k];
    }
    b->samples = n ? columns[0].desc.dim[0] : 0;
}

void batch_slice(batch *part, const batch *whole, int64_t first, int64_t count)
{
    part->ncolumns = whole->ncolumns;
    part->samples = count;
    for (uint32_t k = 0; k < whole->ncolumns; k++) {
        const tutti_tensor *from = &whole->columns[k].now;
        tutti_tensor *to = &part->columns[k].now;
        memcpy(part->columns[k].name, whole->columns[k].name, sizeof part->columns[k].name);
        *to = *from;
        const int64_t rows = from->desc.dim[0];
        const uint64_t row = rows ? tutti_nbytes(&from->desc) / (uint64_t)rows : 0;
        to->desc.dim[0] = count;
        to->data = (char *)from->data + (uint64_t)first * row;
    }
}

slot *batch_find(batch *b, const char *name)
{
    for (uint32_t k = 0; k < b->ncolumns; k++)
        if (strcmp(b->columns[k].name, name) == 0)
            return &b->columns[k];
    if (name[0] >= '0' && name[0] <= '9' && name[1] == '\0' &&
        (uint32_t)(name[0] - '0') < b->ncolumns)
        return &b->columns[name[0] - '0'];
    return NULL;
}

tutti_status slot_set(slot *s, const tutti_tensor *t, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&t->desc);
    if (bytes > s->room || !s->own) {
        const uint64_t room = (bytes + 63) / 64 * 64 + 64;
        void *own = aligned_alloc(64, room);
        if (!own)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of %s",
                              (unsigned long long)bytes, s->name);
        if (bytes)
            memcpy(own, t->data, bytes); /* before the old memory goes: t may lie in it */
        free(s->own);
        s->own = own;
        s->room = room;
    } else if (bytes) {
        memmove(s->own, t->data, bytes);
    }
    s->now = *t;
    s->now.data = s->own;
    return TUTTI_OK;
}

void batch_fini(batch *b)
{
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++) {
        free(b->columns[k].own);
        b->columns[k].own = NULL;
        view_fini(&b->columns[k].view);
    }
}
