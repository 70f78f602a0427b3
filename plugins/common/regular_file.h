/* regular_file.h - a regular file opened for reading. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_REGULAR_FILE_H
#define PLUGIN_REGULAR_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL when it cannot be opened or is none; *ret_why then says why.  Never waits for who writes to a pipe. */
static inline FILE *regular_file_open(const char *path, const char **ret_why)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int known = fd >= 0 && fstat(fd, &st) == 0;
    FILE *file = known && S_ISREG(st.st_mode) ? fdopen(fd, "rb") : NULL;
    if (file)
        return file;
    *ret_why = known && !S_ISREG(st.st_mode) ? "is no regular file" : strerror(errno);
    if (fd >= 0)
        (void)close(fd);
    return NULL;
}

#endif
