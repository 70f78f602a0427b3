/* input_file.h - files that users name, opened for reading. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_INPUT_FILE_H
#define HOST_BASE_INPUT_FILE_H

#include "tutti/base.h"

#include <stdio.h>

/* Opens a file without waiting for the writer of a named pipe; descriptors in /dev and /proc may be pipes.  The
 * caller closes *ret_file.  [any]
 * Errors: E_FORMAT for a named pipe; E_NOMEM; E_IO, with errno. */
TUTTI_NODISCARD tutti_status input_file_open(const char *path, FILE **ret_file,
                                             tutti_error *err);

#endif
