/* whole_io.h - bytes of a descriptor, all of them, however often a call is interrupted. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WHOLE_IO_H
#define PLUGIN_WHOLE_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

enum {
    WHOLE_IO_INTERRUPTIONS = 1000
}; /* in a row: a file system that knows nothing else is broken */

/* Counts what one call did; 0: no other one follows. */
static inline int whole_io_goes_on(ssize_t n, size_t *done, int *interrupted)
{
    if (n < 0 && errno == EINTR && ++*interrupted < WHOLE_IO_INTERRUPTIONS)
        return 1;
    if (n == 0)
        errno = EIO;
    if (n <= 0)
        return 0;
    *interrupted = 0;
    *done += (size_t)n;
    return 1;
}

/* How many bytes were read from byte `at` on; fewer than `size` with errno, EIO where the file ends. */
static inline size_t whole_read(int fd, void *to, size_t size, int64_t at)
{
    size_t done = 0;
    int interrupted = 0;
    while (done < size &&
           whole_io_goes_on(pread(fd, (char *)to + done, size - done, at + (int64_t)done),
                            &done, &interrupted)) {
    }
    return done;
}

/* How many bytes were written from byte `at` on, or where the descriptor is for -1; fewer than `size` with errno. */
static inline size_t whole_write(int fd, const void *from, size_t size, int64_t at)
{
    size_t done = 0;
    int interrupted = 0;
    while (done < size) {
        const char *here = (const char *)from + done;
        const ssize_t n = at < 0 ? write(fd, here, size - done)
                                 : pwrite(fd, here, size - done, at + (int64_t)done);
        if (!whole_io_goes_on(n, &done, &interrupted))
            break;
    }
    return done;
}

#endif
