/* unpack.c - streams of zlib and libzstd into a temporary file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack.h"
#include "../../common/whole_io.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

enum { BUFFER = 1 << 20, PIECE = 1 << 30 };

typedef struct unpacking {
    const mapped_file *in;
    const char *path, *folder;
    int fd; /* of the file without a name */
    uint8_t *buffer;
} unpacking;

static int is_gzip(const mapped_file *f)
{
    return f->size > 2 && f->data[0] == 0x1f && f->data[1] == 0x8b;
}

static int is_zstd(const mapped_file *f)
{
    return f->size > 4 && memcmp(f->data, "\x28\xb5\x2f\xfd", 4) == 0;
}

int unpack_is_packed(const mapped_file *f)
{
    return is_gzip(f) || is_zstd(f);
}

static tutti_status fail_damaged(const unpacking *u, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: is damaged or cut off: it cannot be unpacked",
                      u->path);
}

static tutti_status put_buffer(const unpacking *u, size_t size, tutti_error *err)
{
    if (whole_write(u->fd, u->buffer, size, -1) == size)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_IO, "%s: cannot be unpacked in %s: %s", u->path, u->folder,
                      strerror(errno));
}

/* Of one member or several. */
static tutti_status unpack_gzip(const unpacking *u, tutti_error *err)
{
    uint64_t in = 0;
    z_stream z = {0};
    tutti_status s = TUTTI_OK;
    int r = inflateInit2(&z, MAX_WBITS + 16);
    while (s == TUTTI_OK && r == Z_OK && in < u->in->size) {
        const uInt give = (uInt)(u->in->size - in < PIECE ? u->in->size - in : PIECE);
        z.next_in = (Bytef *)(uintptr_t)(u->in->data + in);
        z.avail_in = give;
        z.next_out = u->buffer;
        z.avail_out = BUFFER;
        r = inflate(&z, Z_NO_FLUSH);
        in += give - z.avail_in;
        s = put_buffer(u, BUFFER - z.avail_out, err);
        if (r == Z_STREAM_END && in < u->in->size)
            r = inflateReset(&z);
    }
    (void)inflateEnd(&z);
    return s ? s : r == Z_STREAM_END ? TUTTI_OK : fail_damaged(u, err);
}

/* Of one frame or several. */
static tutti_status unpack_zstd(const unpacking *u, tutti_error *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {u->in->data, u->in->size, 0};
    tutti_status s = z ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory");
    size_t left = 1; /* 0: at the end of a frame */
    while (s == TUTTI_OK && (in.pos < in.size || left > 0)) {
        const size_t before = in.pos;
        ZSTD_outBuffer out = {u->buffer, BUFFER, 0};
        left = ZSTD_decompressStream(z, &out, &in);
        if (ZSTD_isError(left) || (in.pos == before && out.pos == 0))
            s = fail_damaged(u, err);
        else
            s = put_buffer(u, out.pos, err);
    }
    (void)ZSTD_freeDStream(z);
    return s;
}

static tutti_status map_unpacked(const unpacking *u, mapped_file *ret, tutti_error *err)
{
    struct stat st;
    if (fstat(u->fd, &st) != 0 || st.st_size == 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: holds no samples", u->path);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, u->fd, 0);
    if (map == MAP_FAILED)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be mapped: %s", u->path,
                          strerror(errno));
    *ret = (mapped_file){map, (uint64_t)st.st_size};
    return TUTTI_OK;
}

/* A file that goes with the process, however that ends. */
static int open_nameless(const char *folder)
{
    char name[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 &&
        (size_t)snprintf(name, sizeof name, "%s/tutti.XXXXXX", folder) < sizeof name &&
        (fd = mkostemp(name, O_CLOEXEC)) >= 0)
        (void)unlink(name);
    return fd;
}

tutti_status unpack_file(const mapped_file *packed, const char *path, const char *folder,
                         mapped_file *ret, tutti_error *err)
{
    unpacking u = {packed, path, folder, open_nameless(folder), malloc(BUFFER)};
    tutti_status s = TUTTI_OK;
    if (u.fd < 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: cannot be unpacked in %s: %s", path, folder,
                       strerror(errno));
    else if (!u.buffer)
        s = tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory");
    else
        s = is_gzip(packed) ? unpack_gzip(&u, err) : unpack_zstd(&u, err);
    if (s == TUTTI_OK)
        s = map_unpacked(&u, ret, err);
    free(u.buffer);
    if (u.fd >= 0)
        (void)close(u.fd);
    return s;
}
