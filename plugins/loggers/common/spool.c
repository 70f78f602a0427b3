/* spool.c - the file: a header with the place of the first frame, frames with their checksums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "spool.h"
#include "../../common/synced_name.h"
#include "../../common/whole_io.h"

#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = {'T', 'U', 'T', 'T', 'I', 'Q', '1', '\n'};

typedef struct header {
    char magic[8];
    int64_t head;
} header;

static tutti_status fail_io(const char *doing, const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "cannot %s %s: %s", doing, path, strerror(errno));
}

static bool write_at(int fd, const void *from, size_t size, int64_t at)
{
    return whole_write(fd, from, size, at) == size;
}

static size_t read_at(int fd, void *to, size_t size, int64_t at)
{
    return whole_read(fd, to, size, at);
}

static bool write_header(const spool *s)
{
    header h = {.head = s->head};
    memcpy(h.magic, magic, sizeof magic);
    return write_at(s->fd, &h, sizeof h, 0);
}

/* The end of the last frame that is whole. */
static int64_t sound_end(const spool *s, int64_t size)
{
    int64_t at = s->head;
    spool_frame f;
    while (at + (int64_t)sizeof f <= size && read_at(s->fd, &f, sizeof f, at) == sizeof f) {
        const int64_t next = at + (int64_t)sizeof f + f.size;
        char *data = next <= size ? malloc(f.size ? f.size : 1) : NULL;
        const bool sound = data &&
                           read_at(s->fd, data, f.size, at + (int64_t)sizeof f) == f.size &&
                           crc32c_of(data, f.size) == f.crc;
        free(data);
        if (!sound)
            break;
        at = next;
    }
    return at;
}

/* The file is open, and this process'. */
static tutti_status take_up(spool *s, tutti_error *err)
{
    struct stat st;
    header h;
    if (fstat(s->fd, &st) != 0)
        return fail_io("read", s->path, err);
    s->head = s->end = sizeof h;
    if (st.st_size == 0)
        return write_header(s) ? TUTTI_OK : fail_io("write", s->path, err);
    if (read_at(s->fd, &h, sizeof h, 0) != sizeof h ||
        memcmp(h.magic, magic, sizeof magic) != 0 || h.head < (int64_t)sizeof h)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s is not a file of waiting records", s->path);
    if (h.head > st.st_size) /* killed while it was emptied */
        return write_header(s) ? TUTTI_OK : fail_io("write", s->path, err);
    s->head = h.head;
    s->inherited = s->end = sound_end(s, st.st_size);
    s->damaged = st.st_size - s->end;
    return s->damaged && ftruncate(s->fd, s->end) != 0 ? fail_io("cut", s->path, err)
                                                       : TUTTI_OK;
}

/* A file without a name in the same folder. */
static tutti_status open_unnamed(spool *s, tutti_error *err)
{
    char name[SPOOL_PATH + 8];
    (void)snprintf(name, sizeof name, "%s.XXXXXX", s->path);
    s->fd = mkostemp(name, O_CLOEXEC);
    if (s->fd < 0)
        return fail_io("make", name, err);
    (void)unlink(name);
    s->is_unnamed = true;
    s->is_new = false;
    return take_up(s, err);
}

static tutti_status open_file(spool *s, int flags, tutti_error *err)
{
    s->fd = open(s->path, O_RDWR | O_CLOEXEC | flags, 0666);
    s->is_new = flags != 0;
    if (s->fd < 0)
        return errno == ENOENT && !flags ? TUTTI_OK : fail_io("open", s->path, err);
    if (flock(s->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return take_up(s, err); /* file systems without locks: as it is */
    (void)close(s->fd);
    return open_unnamed(s, err);
}

tutti_status spool_open(spool *s, const char *path, tutti_error *err)
{
    *s = (spool){.fd = -1};
    if (strlen(path) >= sizeof s->path)
        return tutti_fail(err, TUTTI_E_RANGE, "%s is longer than %zu characters", path,
                          sizeof s->path - 1);
    (void)snprintf(s->path, sizeof s->path, "%s", path);
    const tutti_status status = open_file(s, 0, err);
    if (status && s->fd >= 0) {
        (void)close(s->fd);
        s->fd = -1;
    }
    return status;
}

void spool_close(spool *s)
{
    if (s->fd < 0)
        return;
    if (s->head == s->end && !s->is_unnamed)
        (void)unlink(s->path);
    (void)close(s->fd);
    s->fd = -1;
}

tutti_status spool_add(spool *s, const void *frames, size_t size, tutti_error *err)
{
    if (s->fd < 0) {
        const tutti_status status = open_file(s, O_CREAT, err);
        if (status)
            return status;
    }
    if (!write_at(s->fd, frames, size, s->end)) {
        const tutti_status status = fail_io("write", s->path, err);
        (void)!ftruncate(s->fd,
                         s->end); /* what is left of it is cut when the file is taken up */
        return status;
    }
    s->end += (int64_t)size;
    return TUTTI_OK;
}

size_t spool_peek(const spool *s, void *to, size_t size)
{
    const int64_t left = s->end - s->head;
    return s->fd < 0 ? 0
                     : read_at(s->fd, to, (int64_t)size < left ? size : (size_t)left, s->head);
}

void spool_take(spool *s, int64_t size)
{
    s->head += size;
    if (s->head == s->end) {
        s->head = s->end = sizeof(header);
        s->inherited = 0;
        (void)!ftruncate(s->fd, s->end);
    }
    (void)write_header(s); /* else the records are sent twice after a kill */
}

tutti_status spool_sync(spool *s, tutti_error *err)
{
    if (s->fd >= 0 && fsync(s->fd) != 0 && errno != EINVAL)
        return fail_io("write", s->path, err);
    if (s->fd >= 0 && s->is_new)
        synced_name(s->path);
    s->is_new = false;
    return TUTTI_OK;
}

tutti_status spool_set_aside(spool *s, tutti_error *err)
{
    char aside[SPOOL_PATH + 8];
    if (s->inherited <= s->head)
        return TUTTI_OK;
    (void)snprintf(aside, sizeof aside, "%s.undone", s->path);
    FILE *to = fopen(aside, "ae");
    if (!to)
        return fail_io("open", aside, err);
    bool sound = true;
    for (spool_frame f; sound && s->head < s->inherited;) {
        sound = read_at(s->fd, &f, sizeof f, s->head) == sizeof f;
        char *data = sound ? malloc((size_t)f.size + 1) : NULL;
        sound = data && read_at(s->fd, data, f.size, s->head + (int64_t)sizeof f) == f.size &&
                fwrite(data, 1, f.size, to) == f.size && fputc('\n', to) != EOF;
        free(data);
        if (sound)
            spool_take(s, (int64_t)sizeof f + f.size);
        sound = sound && s->inherited;
    }
    const bool failed = s->inherited > s->head;
    if (fclose(to) != 0 || failed)
        return fail_io("write", aside, err);
    return TUTTI_OK;
}

uint64_t spool_count(const void *frames, size_t size)
{
    uint64_t n = 0;
    spool_frame f;
    for (size_t at = 0; at + sizeof f <= size; at += sizeof f + f.size, n++)
        memcpy(&f, (const char *)frames + at, sizeof f);
    return n;
}
