/* inspect.h - what is told of a data set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DATA_INSPECT_H
#define HOST_CLI_DATA_INSPECT_H

#include "base/text.h"
#include "cli/data/data_set.h"

/* Text, or one JSON object: data set, columns, `shown` samples from its beginning, and how many samples each class has among
 * `counted` that lie evenly apart.  Errors: those of reading a sample. */
TUTTI_NODISCARD tutti_status inspect_text(data_set *d, const char *path, int64_t shown,
                                          int64_t counted, text_buffer *b, tutti_error *err);
TUTTI_NODISCARD tutti_status inspect_json(data_set *d, const char *path, int64_t shown,
                                          int64_t counted, text_buffer *b, tutti_error *err);

/* sheet.c: pictures of up to 64 samples that lie evenly apart, by their classes where they have any, as a PNG file.  Errors:
 * E_UNSUPPORTED samples that are no pictures; E_IO; those of reading a sample. */
TUTTI_NODISCARD tutti_status sheet_write(data_set *d, const char *file, tutti_error *err);

#endif
