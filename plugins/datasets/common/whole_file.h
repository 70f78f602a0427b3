/* whole_file.h - a regular file read into memory at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_DATASETS_WHOLE_FILE_H
#define PLUGIN_DATASETS_WHOLE_FILE_H

#include "tutti/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The caller frees *ret_data.  Errors: E_IO, E_FORMAT (no regular file, or empty), E_NOMEM. */
TUTTI_NODISCARD static inline tutti_status whole_file(const char *path, void **ret_data,
                                                      uint64_t *ret_size, tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    FILE *f = fd < 0 || fstat(fd, &st) != 0 ? NULL : fdopen(fd, "rb");
    if (!f) {
        const int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(why));
    }
    tutti_status status = TUTTI_OK;
    const uint64_t size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    void *data = size ? malloc(size) : NULL;
    if (!size)
        status = tutti_fail(err, TUTTI_E_FORMAT, "%s: is empty or no regular file", path);
    else if (!data)
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                            (unsigned long long)size);
    else if (fread(data, 1, size, f) != size)
        status = tutti_fail(err, TUTTI_E_IO, "%s: cannot be read to its end", path);
    (void)fclose(f);
    if (status) {
        free(data);
        return status;
    }
    *ret_data = data;
    *ret_size = size;
    return TUTTI_OK;
}

#endif
