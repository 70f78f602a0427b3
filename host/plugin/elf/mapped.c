/* mapped.c - the bytes of an object file, read within their bounds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

tutti_status mapped_open(const char *path, mapped *ret, tutti_error *err)
{
    struct stat s;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &s)) {
        const tutti_status status =
            tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    const size_t size = (size_t)s.st_size;
    void *map = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (map == MAP_FAILED)
        return tutti_fail(err, size ? TUTTI_E_IO : TUTTI_E_FORMAT,
                          size ? "%s: cannot be mapped" : "%s: an empty file", path);
    *ret = (mapped){path, map, size};
    return TUTTI_OK;
}

void mapped_close(const mapped *m)
{
    (void)munmap((void *)(uintptr_t)m->data, m->size);
}

bool mapped_fetch(const mapped *m, uint64_t at, void *to, size_t size)
{
    if (at > m->size || size > m->size - at)
        return false;
    memcpy(to, m->data + at, size);
    return true;
}

tutti_status mapped_torn(const mapped *m, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its ELF headers point outside of the file",
                      m->path);
}
