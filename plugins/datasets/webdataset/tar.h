/* tar.h - the regular files of a tar archive in memory, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_TAR_H
#define PLUGIN_WEBDATASET_TAR_H

#include "tutti/base.h"

enum { TAR_NAME_SIZE = 4096, TAR_WHY_SIZE = 128 };

typedef struct tar_reader {
    const uint8_t *data;
    uint64_t size;
    uint64_t at;              /* of the next header */
    uint64_t wide_size;       /* of the next file, by a pax header; UINT64_MAX: none */
    char name[TAR_NAME_SIZE]; /* of this file; of the next one where a header gave it ahead */
    int32_t named;            /* name holds the next file's */
    int32_t reserved;
} tar_reader;

typedef struct tar_file {
    const char *name; /* borrowed until the next call */
    uint64_t at;
    uint64_t size;
} tar_file;

void tar_begin(tar_reader *r, const void *data, uint64_t size);

/* 1 and the next regular file, 0 at the end, negative with the cause in `why`: E_FORMAT,
 * E_UNSUPPORTED (sparse files).  [control] */
int32_t tar_next(tar_reader *r, tar_file *ret, char why[TAR_WHY_SIZE]);

#endif
