/* predict_file.h - a model's outputs as rows of a file: NumPy, CSV or JSON lines. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_PREDICT_FILE_H
#define HOST_CLI_PREDICT_FILE_H

#include "tutti/tensor.h"

#include <stdbool.h>

typedef struct predict_file predict_file; /* opaque */

/* Opens the file as output_file_open does.  `format`: "npy", "csv" or "jsonl"; NULL: by the path's ending, .npy, .csv,
 * .jsonl or .json.  Errors: E_ARG the format is none of these; E_UNSUPPORTED npy on what is no regular file; E_IO; E_NOMEM. */
TUTTI_NODISCARD tutti_status predict_file_open(const char *path, const char *format,
                                               predict_file **ret_file, tutti_error *err);
/* From now on, of rows (B, N) whose classes have names, CSV and JSON lines also have the likeliest class, as `name` calls
 * it; before the first rows. */
void predict_file_name_classes(predict_file *f, const char *(*name)(void *ctx, int64_t k),
                               void *ctx);
/* Rows (B, ...) of F32, of one shape in all calls: npy keeps it, CSV has a column for each number, JSON lines
 * have lists of lists.  Numbers read back as they are; JSON has null for those that are none. */
TUTTI_NODISCARD tutti_status predict_file_add(predict_file *f, const tutti_tensor *output,
                                              tutti_error *err);
/* Frees `f`.  With `keep` the file gets its name, and *ret_rows says how many rows it has; else it is
 * removed, and what is no regular file has what was written to it. */
TUTTI_NODISCARD tutti_status predict_file_close(predict_file *f, bool keep, int64_t *ret_rows,
                                                tutti_error *err);

#endif
