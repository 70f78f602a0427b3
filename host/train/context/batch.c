/* batch.c - the columns of a batch, and replacing them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/batch.h"

#include "graph/runtime/device_memory.h"

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

tutti_status slot_set(slot *s, const tutti_device *d, const tutti_tensor *t, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&t->desc);
    const bool here = t->device == TUTTI_DEVICE_CPU;
    tutti_status status = TUTTI_OK;
    if (bytes > s->capacity || !s->own) {
        const uint64_t capacity = (bytes + 63) / 64 * 64 + 64;
        void *own = aligned_alloc(64, capacity);
        if (!own)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of %s",
                              (unsigned long long)bytes, s->name);
        if (bytes && here)
            memcpy(own, t->data, bytes); /* before the old memory goes: t may lie in it */
        free(s->own);
        s->own = own;
        s->capacity = capacity;
    } else if (bytes && here) {
        memmove(s->own, t->data, bytes);
    }
    if (!here)
        status = device_copy(d, s->own, t->data, bytes, TUTTI_COPY_FROM_DEVICE, err);
    if (status)
        return status;
    s->now = *t;
    s->now.data = s->own;
    s->now.device = TUTTI_DEVICE_CPU;
    return TUTTI_OK;
}

tutti_status slot_take(slot *s, const tutti_device *place, uint64_t bytes, void **ret_memory,
                       tutti_error *err)
{
    slot_memory *m = &s->two[++s->turn & 1];
    if (!m->data || m->capacity < bytes || m->place != place) {
        if (m->data)
            device_free(m->place, m->data);
        *m = (slot_memory){device_try_alloc(place, bytes, err), bytes, place};
    }
    if (!m->data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of %s",
                          (unsigned long long)bytes, s->name);
    *ret_memory = m->data;
    return TUTTI_OK;
}

void slot_fini(slot *s)
{
    free(s->own);
    mirror_fini(&s->mirror);
    for (int k = 0; k < 2; k++)
        if (s->two[k].data)
            device_free(s->two[k].place, s->two[k].data);
    *s = (slot){.own = NULL};
}

void batch_fini(batch *b)
{
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        slot_fini(&b->columns[k]);
}
