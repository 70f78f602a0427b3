/* file.c - IDX files, gzipped or not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

/* Exactly `size` bytes; a short file names what it lacks. */
static tutti_status idx_take(gzFile gz, const char *path, void *to, uint64_t size,
                             tutti_error *err)
{
    uint64_t done = 0;
    while (done < size) {
        const uint64_t left = size - done;
        const int n = gzread(gz, (char *)to + done, left > 1 << 30 ? 1 << 30 : (unsigned)left);
        int code = Z_OK;
        const char *why = gzerror(gz, &code);
        if (n < 0 || (n == 0 && code != Z_OK && code != Z_STREAM_END))
            return tutti_fail(err, code == Z_ERRNO ? TUTTI_E_IO : TUTTI_E_FORMAT,
                              "%s: cannot be read: %s", path,
                              code == Z_ERRNO ? strerror(errno) : why);
        if (n == 0)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: ends %llu bytes before its header says",
                              path, (unsigned long long)left);
        done += (uint64_t)n;
    }
    return TUTTI_OK;
}

static int32_t dtype_of(unsigned char code)
{
    switch (code) {
    case 0x08:
        return TUTTI_U8;
    case 0x09:
        return TUTTI_I8;
    case 0x0b:
        return TUTTI_I16;
    case 0x0c:
        return TUTTI_I32;
    case 0x0d:
        return TUTTI_F32;
    case 0x0e:
        return TUTTI_F64;
    default:
        return TUTTI_DTYPE_NONE;
    }
}

static tutti_status read_header(idx_file *f, gzFile gz, tutti_error *err)
{
    unsigned char magic[4], dim[4];
    tutti_status s = idx_take(gz, f->path, magic, sizeof magic, err);
    if (s)
        return s;
    f->sample.dtype = dtype_of(magic[2]);
    const int rank = magic[3];
    if (magic[0] || magic[1] || f->sample.dtype == TUTTI_DTYPE_NONE || rank < 1 ||
        rank > TUTTI_MAX_RANK)
        return tutti_fail(
            err, TUTTI_E_FORMAT,
            "%s: begins with %02x %02x %02x %02x, which is no IDX file of 1 to %d "
            "dimensions",
            f->path, magic[0], magic[1], magic[2], magic[3], TUTTI_MAX_RANK);
    for (int k = 0; k < rank; k++) {
        if ((s = idx_take(gz, f->path, dim, sizeof dim, err)))
            return s;
        const int64_t n = (int64_t)dim[0] << 24 | dim[1] << 16 | dim[2] << 8 | dim[3];
        if (k == 0)
            f->samples = n;
        else
            f->sample.dim[f->sample.rank++] = n;
    }
    f->bytes = tutti_dtype_size(f->sample.dtype);
    for (int32_t k = 0; k < f->sample.rank; k++) {
        const uint64_t n = (uint64_t)f->sample.dim[k];
        if (n == 0 || f->bytes > ((uint64_t)1 << 40) / n)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: has a dimension of %llu", f->path,
                              (unsigned long long)n);
        f->bytes *= n;
    }
    return TUTTI_OK;
}

static void idx_swap(unsigned char *data, uint64_t count, uint64_t width)
{
    for (uint64_t k = 0; k < count; k++, data += width)
        for (uint64_t i = 0; i < width / 2; i++) {
            const unsigned char t = data[i];
            data[i] = data[width - 1 - i];
            data[width - 1 - i] = t;
        }
}

tutti_status idx_open(idx_file *f, const char *path, tutti_error *err)
{
    memset(f, 0, sizeof *f);
    f->path = strdup(path);
    if (!f->path)
        return tutti_fail(err, TUTTI_E_NOMEM, "idx: no memory");
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    const bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    gzFile gz = regular ? gzdopen(fd, "rb") : NULL;
    if (!gz) {
        const int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return fd >= 0 && !regular
                   ? tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path)
                   : tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(why));
    }
    tutti_status s = read_header(f, gz, err);
    const uint64_t total = f->bytes * (uint64_t)f->samples;
    if (s == TUTTI_OK && f->samples == 0)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: the set is empty", path);
    if (s == TUTTI_OK && !(f->data = malloc(total)))
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                       (unsigned long long)total);
    if (s == TUTTI_OK)
        s = idx_take(gz, path, f->data, total, err);
    char more;
    if (s == TUTTI_OK && gzread(gz, &more, 1) == 1)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is longer than its header says", path);
    (void)gzclose(gz);
    const uint64_t width = tutti_dtype_size(f->sample.dtype);
    if (s == TUTTI_OK)
        idx_swap(f->data, total / width, width);
    return s;
}

void idx_close(idx_file *f)
{
    free(f->path);
    free(f->data);
    memset(f, 0, sizeof *f);
}
