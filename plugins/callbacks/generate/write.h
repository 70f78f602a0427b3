/* write.h - texts as messages for the loggers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GENERATE_WRITE_H
#define GENERATE_WRITE_H

#include "tutti/log.h"

/* One message a line of `text`, with "| " before it.  What is no UTF-8, and control characters, become
 * U+FFFD. */
TUTTI_NODISCARD tutti_status write_lines(const tutti_log_v1 *log, const char *text,
                                         uint64_t size, tutti_error *err);

#endif
