/* input_file.c - files that users name, opened for reading. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the shell hands over as a file, such as /dev/stdin and /dev/fd/63: there somebody writes. */
static bool is_descriptor(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           (strncmp(path, "/proc/", 6) == 0 && strstr(path, "/fd/"));
}

tutti_status input_file_open(const char *path, FILE **ret_file, tutti_error *err)
{
    struct stat st;
    const bool waits = is_descriptor(path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
    const bool pipe = fd >= 0 && !waits && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
    FILE *file = fd < 0 || pipe ? NULL : fdopen(fd, "rb");
    const int why = errno;
    if (file) {
        *ret_file = file;
        return TUTTI_OK;
    }
    if (fd >= 0)
        (void)close(fd);
    if (pipe)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is a named pipe, want a regular file",
                          path);
    errno = why;
    return tutti_fail(err, why == ENOMEM ? TUTTI_E_NOMEM : TUTTI_E_IO, "%s: %s", path,
                      strerror(why));
}
