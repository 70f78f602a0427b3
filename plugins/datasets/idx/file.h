/* file.h - one IDX file in memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_IDX_FILE_H
#define PLUGIN_IDX_FILE_H

#include "tutti/tensor.h"

typedef struct idx_file {
    char *path;
    tutti_desc sample; /* shape and dtype of one */
    int64_t samples;
    uint64_t bytes; /* of a sample */
    unsigned char *data;
} idx_file;

/* Reads the whole file into memory, values in the machine's byte order.  `f` is for idx_close
 * even after an error.  Errors: E_IO, E_FORMAT, E_NOMEM, which name the file.  [control] */
TUTTI_NODISCARD tutti_status idx_open(idx_file *f, const char *path, tutti_error *err);
void idx_close(idx_file *f);

#endif
