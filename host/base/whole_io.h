/* whole_io.h - bytes of a descriptor, all of them, however often a call is interrupted. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_WHOLE_IO_H
#define HOST_BASE_WHOLE_IO_H

#include <stddef.h>
#include <stdint.h>

enum { WHOLE_IO_HERE = -1 }; /* for `at`: where the descriptor is */

/* How many bytes were read or written, from byte `at` on.  Fewer than `size`: errno says why, and 0 that the file
 * ends, or takes no more.  A call that is interrupted a thousand times in a row has failed: a file system that knows
 * nothing else is broken.  [any] */
size_t whole_read(int fd, void *to, size_t size, int64_t at);
size_t whole_write(int fd, const void *from, size_t size, int64_t at);

#endif
