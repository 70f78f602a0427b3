/* samples.h - all samples of a data set as columns (N, ...), read once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_SAMPLES_H
#define HOST_TRAIN_DATA_SAMPLES_H

#include "plugin/instance.h"
#include "tutti/dataset.h"

/* What all of them take.  Errors: E_SHAPE a column whose samples differ in shape. */
TUTTI_NODISCARD tutti_status samples_bytes(const tutti_dataset_info *info, uint64_t *ret_bytes,
                                           tutti_error *err);

/* What a plugin's failure at a sample becomes: its error, or, where it gave none, one that names the sample, the object
 * ("dataset", "transform") and the status.  Returns the status of `err`, which is not OK.  [any] */
tutti_status samples_failed(const char *kind, const instance *who, int64_t index,
                            tutti_status status, tutti_error *err);

/* What a dataset or a transform says of its columns; `kind` and `name` begin the sentence.  [any]
 * Errors: RANGE too many; those of tutti_desc_check. */
TUTTI_NODISCARD tutti_status samples_check_columns(const char *kind, const char *name,
                                                   const tutti_column *columns, uint32_t n,
                                                   tutti_error *err);

/* The dataset's own read.  A file that the dataset has mapped and that became shorter is E_IO with file and
 * sample.  [any] */
TUTTI_NODISCARD tutti_status samples_read_one(instance *dataset, const tutti_dataset_v1 *table,
                                              int64_t index, tutti_tensor *columns,
                                              const uint64_t *capacity, uint32_t ncolumns,
                                              tutti_error *err);

/* The same of tutti.stored/1: a picture as the file that it is.  [any] */
TUTTI_NODISCARD tutti_status samples_file_one(instance *dataset, const tutti_stored_v1 *table,
                                              int64_t index, uint32_t column, void *to,
                                              uint64_t capacity, uint64_t *ret_size,
                                              tutti_error *err);

/* Reads samples first to first + count - 1 by `threads` threads: column k goes to to[k], (count, ...).
 * Errors are those of the earliest sample that has one.  [control] */
TUTTI_NODISCARD tutti_status samples_read(instance *dataset, const tutti_dataset_info *info,
                                          int64_t first, int64_t count, uint32_t threads,
                                          void *const *to, tutti_error *err);

#endif
