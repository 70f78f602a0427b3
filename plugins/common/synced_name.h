/* synced_name.h - a new file whose name is on the disk: after a loss of power its folder still has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYNCED_NAME_H
#define SYNCED_NAME_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Syncs the folder of the file `path` and those above it, which may be new too.  What cannot be opened, or synced, as on
 * some network file systems, is left.  [any] */
static inline void synced_name(const char *path)
{
    char folder[4096];
    const int n = snprintf(folder, sizeof folder, "%s", path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return;
    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        *slash = '\0';
        const int fd = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        (void)fsync(fd);
        (void)close(fd);
    }
    if (*path == '/')
        return;
    const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (here < 0)
        return;
    (void)fsync(here);
    (void)close(here);
}

#endif
