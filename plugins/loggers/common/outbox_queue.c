/* outbox_queue.c - records that wait: in memory, behind those in a file; and sentences about them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox_internal.h"

#include "crc32c.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void outbox_note(outbox *o, int32_t level, const char *format, ...)
{
    va_list args;
    if (o->nnotes == NOTES)
        return;
    note *n = &o->notes[o->nnotes++];
    n->level = level;
    va_start(args, format);
    (void)__builtin_vsnprintf(n->text, sizeof n->text, format, args);
    va_end(args);
}

void outbox_tell(outbox *o)
{
    note said[NOTES];
    outbox_lock(o);
    const uint32_t n = o->nnotes;
    memcpy(said, o->notes, n * sizeof *said);
    o->nnotes = 0;
    outbox_unlock(o);
    for (uint32_t k = 0; k < n && o->config.log; k++)
        o->config.log->write(o->config.log->ctx, said[k].level, said[k].text);
}

bool outbox_is_empty(const outbox *o)
{
    return o->first == o->last && o->spool.head == o->spool.end;
}

void outbox_note_disk(outbox *o, const tutti_error *why)
{
    if (!o->disk_failed)
        outbox_note(o, TUTTI_LOG_WARNING,
                    "%s: %s; what memory does not hold is lost until it can", o->config.who,
                    why->text);
    o->disk_failed = true;
}

bool outbox_spill(outbox *o)
{
    tutti_error why = TUTTI_ERROR_INIT;
    if (o->first == o->last)
        return true;
    if (spool_add(&o->spool, o->memory + o->first, o->last - o->first, &why)) {
        outbox_note_disk(o, &why);
        return false;
    }
    o->disk_failed = false;
    o->first = o->last = 0;
    return true;
}

/* Room for `size` bytes behind the last record. */
static bool make_room(outbox *o, size_t size)
{
    if (o->first > 0) {
        memmove(o->memory, o->memory + o->first, o->last - o->first);
        o->last -= o->first;
        o->first = 0;
    }
    return o->last + size <= o->config.memory || (outbox_spill(o) && size <= o->config.memory);
}

static bool put_memory(outbox *o, const spool_frame *f, const char *data)
{
    const size_t size = sizeof *f + f->size;
    if (o->last + size > o->config.memory && !make_room(o, size))
        return false;
    memcpy(o->memory + o->last, f, sizeof *f);
    memcpy(o->memory + o->last + sizeof *f, data, f->size);
    o->last += size;
    return true;
}

/* A record that is larger than the memory. */
static bool put_file(outbox *o, const spool_frame *f, const char *data)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const size_t size = sizeof *f + f->size;
    char *whole = size > o->config.memory && outbox_spill(o) ? malloc(size) : NULL;
    if (!whole)
        return false;
    memcpy(whole, f, sizeof *f);
    memcpy(whole + sizeof *f, data, f->size);
    const tutti_status s = spool_add(&o->spool, whole, size, &why);
    free(whole);
    if (s)
        outbox_note_disk(o, &why);
    return s == TUTTI_OK;
}

bool outbox_append(outbox *o, const char *data, size_t size)
{
    const spool_frame f = {(uint32_t)size, crc32c_of(data, size)};
    return size <= UINT32_MAX / 2 && (put_memory(o, &f, data) || put_file(o, &f, data));
}

size_t outbox_peek(outbox *o)
{
    spool_frame f = {0};
    const bool from_file = o->spool.head < o->spool.end;
    const size_t have = o->last - o->first;
    if (!from_file)
        memcpy(&f, o->memory + o->first, sizeof f);
    else if (spool_peek(&o->spool, &f, sizeof f) != sizeof f)
        return 0;
    const size_t one = sizeof f + f.size, want = one > BATCH_BYTES ? one : BATCH_BYTES;
    if (want > o->batch.capacity) {
        char *grown = realloc(o->batch.bytes, want);
        if (!grown)
            return 0;
        o->batch.bytes = grown;
        o->batch.capacity = want;
    }
    if (from_file)
        return spool_peek(&o->spool, o->batch.bytes, want);
    memcpy(o->batch.bytes, o->memory + o->first, have < want ? have : want);
    return have < want ? have : want;
}

uint32_t outbox_parse(outbox *o, size_t size)
{
    uint32_t n = 0;
    spool_frame f;
    for (size_t at = 0; n < BATCH_RECORDS && at + sizeof f <= size; at += sizeof f + f.size) {
        memcpy(&f, o->batch.bytes + at, sizeof f);
        if (at + sizeof f + f.size > size)
            break;
        o->batch.records[n++] = (outbox_record){o->batch.bytes + at + sizeof f, f.size};
    }
    return n;
}

void outbox_take(outbox *o, uint32_t n)
{
    size_t size = 0;
    for (uint32_t k = 0; k < n; k++)
        size += sizeof(spool_frame) + o->batch.records[k].size;
    if (!size)
        return;
    if (o->spool.head < o->spool.end)
        spool_take(&o->spool, (int64_t)size);
    else
        o->first += size;
}

uint64_t outbox_count(const outbox *o)
{
    uint64_t n = spool_count(o->memory + o->first, o->last - o->first);
    spool s = o->spool; /* a place of its own in the same file */
    for (spool_frame f; spool_peek(&s, &f, sizeof f) == sizeof f; n++)
        s.head += (int64_t)sizeof f + f.size;
    return n;
}
