/* fuzz_file.h - the input of a fuzzer as a file that lies in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH = 64 };

/* A folder of its own in memory, until the process ends; static. */
static inline const char *fuzz_folder(void)
{
    static char folder[FUZZ_PATH];
    if (*folder)
        return folder;
    (void)snprintf(folder, sizeof folder, "/dev/shm/tutti_fuzz_XXXXXX");
    if (!mkdtemp(folder))
        abort();
    return folder;
}

/* Writes folder/name; its path goes to `path`. */
static inline void fuzz_file(const char *name, const void *data, size_t size,
                             char path[2 * FUZZ_PATH])
{
    (void)snprintf(path, 2 * FUZZ_PATH, "%s/%s", fuzz_folder(), name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

#endif
