/* upload.c - batches on their way to a device: pinned, two at a time, beside the work under way. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/upload.h"

#include "graph/runtime/device_memory.h"

#include <string.h>

/* One of the two ways of a column: host memory -> device memory, on the stream of uploads. */
static tutti_status lane_fit(const tutti_device *d, upload_lane *l, uint64_t bytes,
                             tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (!l->copied && ((s = d->table->event_create(d->device, &l->copied, err)) ||
                       (s = d->table->event_create(d->device, &l->used, err))))
        return s;
    if (l->host && bytes <= l->capacity)
        return TUTTI_OK;
    s = d->table->synchronise(d->device, NULL, err); /* the old memory is in no copy any more */
    if (s)
        return s;
    device_free(d, l->device);
    device_free_pinned(d, l->host);
    l->capacity = bytes;
    l->device = device_alloc(d, bytes);
    l->host = device_alloc_pinned(d, bytes);
    if (l->device && l->host)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for batches on their way to %s",
                      d->info.name);
}

/* The copy that used this lane last has left the host's memory. */
static tutti_status lane_wait(const tutti_device *d, void *stream, const upload_lane *l,
                              tutti_error *err)
{
    return d->table->event_done(d->device, l->copied) == 1
               ? TUTTI_OK
               : d->table->synchronise(d->device, stream, err);
}

tutti_status upload_run(uploads *u, const tutti_device *d, uint32_t column, void *to,
                        const tutti_tensor *from, tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&from->desc);
    upload_lane *l = &u->lanes[column][u->turn[column] & 1];
    const tutti_device_v1 *table = d->table;
    tutti_status s = TUTTI_OK;
    if (!u->stream && (s = table->stream_create(d->device, &u->stream, err)))
        return s;
    if ((s = lane_fit(d, l, bytes, err)) || (s = lane_wait(d, u->stream, l, err)))
        return s;
    if (bytes)
        memcpy(l->host, from->data, bytes);
    if ((s = table->event_wait(d->device, u->stream, l->used, err)) ||
        (s = table->copy(d->device, u->stream, l->device, l->host, bytes,
                         TUTTI_COPY_TO_DEVICE | TUTTI_COPY_NON_BLOCKING, err)) ||
        (s = table->event_record(d->device, l->copied, u->stream, err)) ||
        (s = table->event_wait(d->device, NULL, l->copied, err)) ||
        (s = table->copy(d->device, NULL, to, l->device, bytes, TUTTI_COPY_ON_DEVICE, err)))
        return s;
    u->turn[column]++;
    return table->event_record(d->device, l->used, NULL, err);
}

void uploads_fini(uploads *u, const tutti_device *d)
{
    if (!u->stream)
        return;
    (void)d->table->synchronise(d->device, NULL, NULL);
    for (uint32_t k = 0; k < UPLOAD_COLUMNS; k++)
        for (uint32_t j = 0; j < 2; j++) {
            upload_lane *l = &u->lanes[k][j];
            device_free(d, l->device);
            device_free_pinned(d, l->host);
            d->table->event_destroy(d->device, l->copied);
            d->table->event_destroy(d->device, l->used);
        }
    d->table->stream_destroy(d->device, u->stream);
    memset(u, 0, sizeof *u);
}
