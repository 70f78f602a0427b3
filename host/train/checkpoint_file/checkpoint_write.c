/* checkpoint_write.c - checkpoints as safetensors files: written whole or not at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/whole_io.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/checkpoint_file/checkpoint_format.h"
#include "train/checkpoint_file/temporary_file.h"

#include "base/folders.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#define VERSION "2"
enum { PIECE = 1 << 18 };

static tutti_status write_all(int fd, const char *path, const void *data, uint64_t size,
                              tutti_error *err)
{
    if (whole_write(fd, data, size, WHOLE_IO_HERE) == size)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot write the checkpoint: %s", path,
                      strerror(errno ? errno : ENOSPC));
}

/* The header's length as the file has it. */
static void put_length(unsigned char to[8], uint64_t length)
{
    for (int k = 0; k < 8; k++)
        to[k] = (unsigned char)(length >> (8 * k));
}

/* What is written, hashed as it is written: state of a plugin may change meanwhile, in a thread of its own, and the
 * checksum is of the bytes that the file has. */
typedef struct sealed_file {
    int fd;
    const char *path; /* for errors */
    XXH3_state_t *hash;
    char *piece; /* PIECE bytes */
} sealed_file;

static tutti_status add_bytes(sealed_file *f, const void *data, uint64_t size, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint64_t at = 0; at < size && !s; at += PIECE) {
        const uint64_t n = size - at < PIECE ? size - at : PIECE;
        memcpy(f->piece, (const char *)data + at, n);
        (void)XXH3_64bits_update(f->hash, f->piece, n);
        s = write_all(f->fd, f->path, f->piece, n, err);
    }
    return s;
}

/* Puts the digits into the header, which has none yet. */
static tutti_status seal(const sealed_file *f, tutti_error *err)
{
    char digits[SEAL_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(f->hash));
    if (lseek(f->fd, 8 + SEAL_HEAD_SIZE, SEEK_SET) < 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot write the checksum: %s", f->path,
                          strerror(errno));
    return write_all(f->fd, f->path, digits, SEAL_DIGITS, err);
}

/* The header: length, then JSON padded with spaces so that the data begins at a multiple of 8. */
static tutti_status make_header(const checkpoint_item *items, size_t nitems,
                                const checkpoint_text *texts, size_t ntexts, text_buffer *b)
{
    text_add(b, "%s%s\",\"tutti\":\"" VERSION "\"", SEAL_HEAD, SEAL_NONE);
    for (size_t k = 0; k < ntexts; k++) {
        text_add(b, ",");
        text_add_quoted(b, texts[k].key);
        text_add(b, ":");
        text_add_quoted(b, texts[k].value);
    }
    text_add(b, "}");
    uint64_t at = 0;
    for (size_t k = 0; k < nitems; k++) {
        const tutti_desc *d = &items[k].tensor.desc;
        const uint64_t end = at + tutti_nbytes(d);
        text_add(b, ",");
        text_add_quoted(b, items[k].name);
        text_add(b, ":{\"dtype\":\"%s\",\"shape\":[", tutti_dtype_name(d->dtype));
        for (int32_t r = 0; r < d->rank; r++)
            text_add(b, "%s%" PRId64, r ? "," : "", d->dim[r]);
        text_add(b, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, end);
        at = end;
    }
    text_add(b, "}");
    while (!b->failed && b->size % 8)
        text_add(b, " ");
    return b->failed ? TUTTI_E_NOMEM : TUTTI_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that is given twice makes a file that nobody can read. */
static tutti_status check_names(const char *path, const checkpoint_item *items, size_t n,
                                tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    const char **names = calloc(n + 1, sizeof *names);
    if (!names)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to write it", path);
    for (size_t k = 0; k < n; k++)
        names[k] = items[k].name;
    qsort((void *)names, n, sizeof *names, by_name);
    for (size_t k = 1; k < n && !s; k++)
        if (strcmp(names[k - 1], names[k]) == 0)
            s = tutti_fail(err, TUTTI_E_EXISTS, "%s: two tensors are called %s", path,
                           names[k]);
    free((void *)names);
    return s;
}

static tutti_status write_sealed(int fd, const char *path, const text_buffer *header,
                                 const checkpoint_item *items, size_t n, tutti_error *err)
{
    unsigned char length[8];
    sealed_file f = {fd, path, XXH3_createState(), malloc(PIECE)};
    tutti_status s = f.hash && f.piece
                         ? TUTTI_OK
                         : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to write it", path);
    put_length(length, header->size);
    if (!s)
        (void)XXH3_64bits_reset(f.hash);
    if (!s)
        s = add_bytes(&f, length, sizeof length, err);
    if (!s)
        s = add_bytes(&f, header->data, header->size, err);
    for (size_t k = 0; k < n && !s; k++)
        s = add_bytes(&f, items[k].tensor.data, tutti_nbytes(&items[k].tensor.desc), err);
    if (!s)
        s = seal(&f, err);
    (void)XXH3_freeState(f.hash);
    free(f.piece);
    return s;
}

/* What a file is to have: tensors behind their header, or a text alone. */
typedef struct file_body {
    text_buffer header;
    const checkpoint_item *items; /* NULL: a text */
    size_t count;
} file_body;

static tutti_status write_body(int fd, const char *path, const file_body *b, tutti_error *err)
{
    const tutti_status s = b->items
                               ? write_sealed(fd, path, &b->header, b->items, b->count, err)
                               : write_all(fd, path, b->header.data, b->header.size, err);
    if (!s && fsync(fd) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot sync the checkpoint: %s", path,
                          strerror(errno));
    return s;
}

/* Whole or not at all. */
static tutti_status write_file(const char *path, const file_body *b, tutti_error *err)
{
    char temporary[4096];
    int fd = -1;
    tutti_status s = folders_make(path, err);
    if (!s)
        s = temporary_file_open(path, temporary, sizeof temporary, &fd, err);
    if (s)
        return s;
    s = write_body(fd, path, b, err);
    if (!s && rename(temporary, path) != 0) /* locked still: to others it is no leftover */
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot put the checkpoint in place: %s", path,
                       strerror(errno));
    if (s)
        (void)unlink(temporary);
    (void)close(fd); /* what it has is synced */
    return s ? s : folders_sync(path, err);
}

tutti_status checkpoint_write(const char *path, const checkpoint_item *items, size_t nitems,
                              const checkpoint_text *texts, size_t ntexts, tutti_error *err)
{
    file_body b = {.items = items, .count = nitems};
    tutti_status s = check_names(path, items, nitems, err);
    if (!s && (s = make_header(items, nitems, texts, ntexts, &b.header)))
        s = tutti_fail(err, s, "%s: no memory for the header", path);
    if (!s)
        s = write_file(path, &b, err);
    free(b.header.data);
    return s;
}

tutti_status checkpoint_write_text(const char *path, const char *text, tutti_error *err)
{
    const file_body b = {.header = {.data = (char *)(uintptr_t)text, .size = strlen(text)}};
    return write_file(path, &b, err);
}

tutti_status checkpoint_link(const char *link, const char *target, tutti_error *err)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.new", link) >= (int)sizeof temporary)
        return tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", link);
    const char *name = strrchr(target, '/');
    (void)unlink(temporary);
    if (symlink(name ? name + 1 : target, temporary) != 0 || rename(temporary, link) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot point the link at %s: %s", link, target,
                          strerror(errno));
    return TUTTI_OK;
}
