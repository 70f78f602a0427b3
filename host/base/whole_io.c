/* whole_io.c - bytes of a descriptor, all of them, however often a call is interrupted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/whole_io.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

enum { MOST_INTERRUPTIONS = 1000, PIECE = 1 << 30 };

/* Counts what one call did; whether another one follows. */
static bool goes_on(ssize_t n, size_t *done, int *interrupted)
{
    if (n < 0 && errno == EINTR && ++*interrupted < MOST_INTERRUPTIONS)
        return true;
    if (n == 0)
        errno = 0;
    if (n <= 0)
        return false;
    *interrupted = 0;
    *done += (size_t)n;
    return true;
}

size_t whole_read(int fd, void *to, size_t size, int64_t at)
{
    size_t done = 0;
    int interrupted = 0;
    ssize_t n = 0;
    do {
        const size_t piece = size - done < PIECE ? size - done : PIECE;
        char *here = (char *)to + done;
        if (piece == 0)
            break;
        n = at < 0 ? read(fd, here, piece) : pread(fd, here, piece, at + (int64_t)done);
    } while (goes_on(n, &done, &interrupted));
    return done;
}

size_t whole_write(int fd, const void *from, size_t size, int64_t at)
{
    size_t done = 0;
    int interrupted = 0;
    ssize_t n = 0;
    do {
        const size_t piece = size - done < PIECE ? size - done : PIECE;
        const char *here = (const char *)from + done;
        if (piece == 0)
            break;
        n = at < 0 ? write(fd, here, piece) : pwrite(fd, here, piece, at + (int64_t)done);
    } while (goes_on(n, &done, &interrupted));
    return done;
}
