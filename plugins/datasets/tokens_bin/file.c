/* file.c - the header of a token file, checked against the file's size. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <stdlib.h>
#include <string.h>

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

static tutti_status check_header(token_file *f, tutti_error *err)
{
    const int32_t *header = (const int32_t *)(const void *)f->map.data;
    const struct format *is = NULL;
    if (f->map.size < HEADER_BYTES)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: has %llu bytes, the header of a token file takes %d", f->path,
                          (unsigned long long)f->map.size, HEADER_BYTES);
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
        f->map.size != HEADER_BYTES + (uint64_t)header[2] * (uint64_t)is->token_bytes)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: has %llu bytes, which are not the %d tokens of %d bytes after "
                          "%d bytes of header that it claims",
                          f->path, (unsigned long long)f->map.size, header[2], is->token_bytes,
                          HEADER_BYTES);
    f->tokens = f->map.data + HEADER_BYTES;
    f->count = header[2];
    f->wide = is->token_bytes == 4;
    f->vocabulary = is->vocabulary;
    return TUTTI_OK;
}

tutti_status token_file_open(token_file *f, const char *path, tutti_error *err)
{
    memset(f, 0, sizeof *f);
    f->path = strdup(path);
    if (!f->path)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its name", path);
    tutti_status s = mapped_file_open(&f->map, path, err);
    if (s == TUTTI_OK)
        s = check_header(f, err);
    if (s)
        token_file_close(f);
    return s;
}

void token_file_close(token_file *f)
{
    mapped_file_close(&f->map);
    free(f->path);
    memset(f, 0, sizeof *f);
}
