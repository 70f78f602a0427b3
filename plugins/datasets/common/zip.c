/* zip.c - the directory of a zip archive (PKWARE's APPNOTE 6.3), with its 64-bit form. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "zip.h"

#include <stdio.h>
#include <zlib.h>

enum {
    LOCAL_BYTES = 30,
    ENTRY_BYTES = 46,
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    COMMENT_MAX = 65535,
    NAMES_ROOM = 160,
    DEFLATE_RATIO = 1032 /* no deflated byte holds more */
};
static const uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50,
                      locator_mark = 0x07064b50, end64_mark = 0x06064b50;

/* ---- numbers, least significant byte first ---- */

static uint64_t zip_number(const uint8_t *at, int bytes)
{
    uint64_t n = 0;
    for (int k = bytes; k-- > 0;)
        n = n << 8 | at[k];
    return n;
}

static uint32_t zip_u16(const uint8_t *at)
{
    return (uint32_t)zip_number(at, 2);
}

static uint32_t zip_u32(const uint8_t *at)
{
    return (uint32_t)zip_number(at, 4);
}

int zip_is(const mapped_file *f)
{
    return f->size >= 4 && (zip_u32(f->data) == local_mark || zip_u32(f->data) == end_mark);
}

/* ---- the directory ---- */

static tutti_status zip_broken(const char *path, const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: is a broken zip archive: %s", path, what);
}

/* Where the entries begin, and how many there are. */
static tutti_status zip_directory(const mapped_file *f, const char *path, uint64_t *ret_at,
                                  uint64_t *ret_count, tutti_error *err)
{
    const uint64_t lowest =
        f->size > END_BYTES + COMMENT_MAX ? f->size - END_BYTES - COMMENT_MAX : 0;
    uint64_t end = f->size < END_BYTES ? 0 : f->size - END_BYTES;
    while (end > lowest && zip_u32(f->data + end) != end_mark)
        end--;
    if (f->size < END_BYTES || zip_u32(f->data + end) != end_mark)
        return zip_broken(path, "it has no directory at its end", err);
    *ret_count = zip_u16(f->data + end + 10);
    *ret_at = zip_u32(f->data + end + 16);
    if (end < LOCATOR_BYTES || zip_u32(f->data + end - LOCATOR_BYTES) != locator_mark)
        return TUTTI_OK;
    const uint64_t end64 = zip_number(f->data + end - LOCATOR_BYTES + 8, 8);
    if (end64 > f->size || f->size - end64 < END64_BYTES ||
        zip_u32(f->data + end64) != end64_mark)
        return zip_broken(path, "its 64-bit directory is not where it says", err);
    *ret_count = zip_number(f->data + end64 + 32, 8);
    *ret_at = zip_number(f->data + end64 + 48, 8);
    return TUTTI_OK;
}

/* One entry of the directory. */
typedef struct entry {
    const char *name; /* not ended by a 0 */
    uint32_t length;
    uint32_t flags;
    uint32_t method;
    uint32_t crc;
    uint64_t packed;
    uint64_t size;
    uint64_t at; /* of the local header */
} entry;

/* Numbers that do not fit into 32 bits stand in an extra field, in this order. */
static int wide_numbers(entry *e, const uint8_t *extra, uint64_t left)
{
    uint64_t *const wide[] = {&e->size, &e->packed, &e->at};
    while (left >= 4) {
        const uint64_t bytes = zip_u16(extra + 2);
        if (bytes > left - 4)
            return 0;
        const uint8_t *at = extra + 4, *past = at + bytes;
        for (int k = 0; zip_u16(extra) == 1 && k < 3; k++)
            if (*wide[k] == UINT32_MAX) {
                if (past - at < 8)
                    return 0;
                *wide[k] = zip_number(at, 8);
                at += 8;
            }
        extra = past;
        left -= 4 + bytes;
    }
    return 1;
}

/* Reads the entry at *at and moves on to the next. */
static tutti_status next_entry(const mapped_file *f, const char *path, uint64_t *at, entry *e,
                               tutti_error *err)
{
    if (*at > f->size || f->size - *at < ENTRY_BYTES || zip_u32(f->data + *at) != entry_mark)
        return zip_broken(path, "its directory ends too early", err);
    const uint8_t *d = f->data + *at;
    const uint64_t name = zip_u16(d + 28), extra = zip_u16(d + 30), comment = zip_u16(d + 32);
    if (f->size - *at - ENTRY_BYTES < name + extra + comment)
        return zip_broken(path, "its directory ends too early", err);
    *e = (entry){(const char *)d + ENTRY_BYTES,
                 (uint32_t)name,
                 zip_u16(d + 8),
                 zip_u16(d + 10),
                 zip_u32(d + 16),
                 zip_u32(d + 20),
                 zip_u32(d + 24),
                 zip_u32(d + 42)};
    if (!wide_numbers(e, d + ENTRY_BYTES + name, extra))
        return zip_broken(path, "an extra field of its directory is cut off", err);
    *at += ENTRY_BYTES + name + extra + comment;
    return TUTTI_OK;
}

static int is_array(const entry *e)
{
    return e->length > 4 && memcmp(e->name + e->length - 4, ".npy", 4) == 0;
}

static int is_called(const entry *e, const char *key)
{
    return is_array(e) && strlen(key) == e->length - 4 &&
           memcmp(e->name, key, e->length - 4) == 0;
}

/* ---- one member ---- */

static tutti_status zip_locate(const mapped_file *f, const char *path, const entry *e,
                               zip_member *ret, tutti_error *err)
{
    const int name = (int)(e->length - 4);
    if (e->flags & 1 || (e->method != 0 && e->method != 8))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s: %.*s is %s; want it stored or deflated", path, name, e->name,
                          e->flags & 1 ? "encrypted" : "packed in another way");
    if (e->at > f->size || f->size - e->at < LOCAL_BYTES ||
        zip_u32(f->data + e->at) != local_mark)
        return zip_broken(path, "a member is not where its directory says", err);
    const uint8_t *local = f->data + e->at;
    const uint64_t begin = e->at + LOCAL_BYTES + zip_u16(local + 26) + zip_u16(local + 28);
    if (begin > f->size || f->size - begin < e->packed ||
        (e->method == 0 && e->packed != e->size))
        return zip_broken(path, "a member is shorter than its directory says", err);
    if (e->size / DEFLATE_RATIO > e->packed)
        return zip_broken(path, "a member is longer than what it is packed into can hold", err);
    *ret = (zip_member){f->data + begin, e->packed, e->size, e->crc, e->method == 8};
    return TUTTI_OK;
}

tutti_status zip_find(const mapped_file *f, const char *path, const char *key,
                      const char *setting, zip_member *ret, tutti_error *err)
{
    char names[NAMES_ROOM] = "";
    uint64_t at = 0, count = 0, arrays = 0;
    entry e = {0}, found = {0};
    int matches = 0;
    tutti_status s = zip_directory(f, path, &at, &count, err);
    for (uint64_t k = 0; s == TUTTI_OK && k < count; k++) {
        if ((s = next_entry(f, path, &at, &e, err)))
            return s;
        if (!is_array(&e))
            continue;
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%.*s", arrays++ ? ", " : "",
                       (int)(e.length - 4), e.name);
        if (!key || is_called(&e, key)) {
            found = e;
            matches++;
        }
    }
    if (s)
        return s;
    if (arrays == 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: holds no arrays", path);
    if (matches == 1)
        return zip_locate(f, path, &found, ret, err);
    if (key)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no array %s, it has %s", path, key,
                          names);
    return tutti_fail(err, TUTTI_E_ARG, "%s: has the arrays %s; name one as %s", path, names,
                      setting);
}

tutti_status zip_inflate(const zip_member *m, const char *name, void *to, tutti_error *err)
{
    const uint64_t piece = 1u << 30;
    uint64_t in = 0, out = 0;
    uLong crc = crc32(0, NULL, 0);
    z_stream z = {0};
    int r = inflateInit2(&z, -MAX_WBITS);
    while (r == Z_OK) {
        const uint64_t give = m->packed - in < piece ? m->packed - in : piece;
        const uint64_t capacity = m->size - out < piece ? m->size - out : piece;
        z.next_in = (Bytef *)(uintptr_t)(m->data + in);
        z.avail_in = (uInt)give;
        z.next_out = (Bytef *)to + out;
        z.avail_out = (uInt)capacity;
        r = inflate(&z, Z_NO_FLUSH);
        crc = crc32(crc, (const Bytef *)to + out, (uInt)(capacity - z.avail_out));
        in += give - z.avail_in;
        out += capacity - z.avail_out;
    }
    (void)inflateEnd(&z);
    if (r == Z_MEM_ERROR)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to unpack it", name);
    if (r != Z_STREAM_END || out != m->size || crc != m->crc)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is packed wrongly or damaged", name);
    return TUTTI_OK;
}
