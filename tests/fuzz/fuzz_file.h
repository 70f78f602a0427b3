/* fuzz_file.h - the input of a fuzzer as a file that lies in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH = 64 };

static char fuzz_path[FUZZ_PATH]; /* of the folder, once it is there */

static inline int fuzz_remove_one(const char *path, const struct stat *s, int flag,
                                  struct FTW *f)
{
    (void)s;
    (void)flag;
    (void)f;
    return remove(path);
}

static inline void fuzz_remove(void)
{
    (void)nftw(fuzz_path, fuzz_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A folder of its own in memory, which goes when the process ends; static.  One that crashes leaves it. */
static inline const char *fuzz_folder(void)
{
    if (*fuzz_path)
        return fuzz_path;
    (void)snprintf(fuzz_path, sizeof fuzz_path, "/dev/shm/tutti_fuzz_XXXXXX");
    if (!mkdtemp(fuzz_path) || atexit(fuzz_remove) != 0)
        abort();
    return fuzz_path;
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
