/* file.c - the header of a token file, checked against the file's size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_INTS = 256, HEADER_BYTES = HEADER_INTS * 4 };

/* As llm.c's dev/data/data_common.py writes them, little-endian. */
static const struct format {
    const char *model;
    int32_t magic;
    int32_t version;
    int32_t token_bytes;
    int32_t vocabulary;
} formats[] = {
    {"GPT-2", 20240520, 1, 2, 50257},
    {"Llama 3", 20240801, 7, 4, 128256},
};

static tutti_status check_header(token_file *f, const int32_t *header, tutti_error *err)
{
    const struct format *is = NULL;
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
        if (header[0] == formats[k].magic)
            is = &formats[k];
    if (!is)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: begins with %d, want 20240520 (GPT-2) or 20240801 (Llama 3)",
                          f->path, header[0]);
    if (header[1] != is->version)
        return tutti_fail(err, TUTTI_E_VERSION, "%s: has version %d, want %d for %s", f->path,
                          header[1], is->version, is->model);
    if (header[2] < 1 ||
        f->size != HEADER_BYTES + (uint64_t)header[2] * (uint64_t)is->token_bytes)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: has %llu bytes, which are not the %d tokens of %d bytes after "
                          "%d bytes of header that it claims",
                          f->path, (unsigned long long)f->size, header[2], is->token_bytes,
                          HEADER_BYTES);
    f->tokens = (const char *)f->map + HEADER_BYTES;
    f->count = header[2];
    f->wide = is->token_bytes == 4;
    f->vocabulary = is->vocabulary;
    return TUTTI_OK;
}

static tutti_status map_file(token_file *f, int file, tutti_error *err)
{
    struct stat st;
    if (file < 0 || fstat(file, &st) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", f->path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size < HEADER_BYTES)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: is no regular file of at least %d bytes, a token file's header",
                          f->path, HEADER_BYTES);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be mapped: %s", f->path,
                          strerror(errno));
    f->map = map;
    f->size = (uint64_t)st.st_size;
    return TUTTI_OK;
}

tutti_status token_file_open(token_file *f, const char *path, tutti_error *err)
{
    memset(f, 0, sizeof *f);
    f->path = strdup(path);
    if (!f->path)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its name", path);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    tutti_status s = map_file(f, file, err);
    if (file >= 0)
        (void)close(file);
    if (s == TUTTI_OK)
        s = check_header(f, f->map, err);
    if (s)
        token_file_close(f);
    return s;
}

void token_file_close(token_file *f)
{
    if (f->map)
        (void)munmap(f->map, f->size);
    free(f->path);
    memset(f, 0, sizeof *f);
}
