/* hold_faults.c - a library to preload that makes a disk which stands still: fsync of a file whose name has
 * TUTTI_HOLD_NAME in it waits as long as the file TUTTI_HOLD is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int fsync(int fd)
{
    const char *hold = getenv("TUTTI_HOLD"), *name = getenv("TUTTI_HOLD_NAME");
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    while (hold && name && strstr(path, name) && access(hold, F_OK) == 0)
        (void)usleep(1000);
    return (int)syscall(SYS_fsync, fd);
}
