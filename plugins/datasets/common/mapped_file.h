/* mapped_file.h - a regular file mapped into memory, to be read in any order by any thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_MAPPED_FILE_H
#define PLUGIN_DATASETS_MAPPED_FILE_H

#include "tutti/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct mapped_file {
    const uint8_t *data;
    uint64_t size;
} mapped_file;

/* Errors: E_IO, E_FORMAT (no regular file, or empty), which name the file.  [control] */
TUTTI_NODISCARD static inline tutti_status mapped_file_open(mapped_file *m, const char *path,
                                                            tutti_error *err)
{
    struct stat st;
    void *map = MAP_FAILED;
    tutti_status status = TUTTI_OK;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    if (file < 0 || fstat(file, &st) != 0)
        status = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode) || st.st_size == 0)
        status = tutti_fail(err, TUTTI_E_FORMAT, "%s: is empty or no regular file", path);
    else if ((map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0)) ==
             MAP_FAILED)
        status = tutti_fail(err, TUTTI_E_IO, "%s: cannot be mapped: %s", path, strerror(errno));
    if (file >= 0)
        (void)close(file);
    if (status == TUTTI_OK)
        *m = (mapped_file){map, (uint64_t)st.st_size};
    return status;
}

static inline void mapped_file_close(mapped_file *m)
{
    if (m->data)
        (void)munmap((void *)(uintptr_t)m->data, (size_t)m->size);
    *m = (mapped_file){NULL, 0};
}

#endif
