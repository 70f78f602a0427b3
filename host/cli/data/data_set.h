/* data_set.h - a data set opened by its path alone, and its samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DATA_DATA_SET_H
#define HOST_CLI_DATA_DATA_SET_H

#include "base/text.h"
#include "cli/cli.h"
#include "tutti/dataset.h"
#include "tutti/vocabulary.h"

typedef struct data_set {
    instance *instance;
    const tutti_dataset_v1 *table;
    const tutti_stored_v1 *stored;         /* NULL: pictures are no files */
    int64_t index;                         /* of the sample that was read last */
    const tutti_vocabulary_v1 *vocabulary; /* NULL: not of tokens whose meaning is known */
    tutti_dataset_info info;
    tutti_tensor columns[TUTTI_MAX_COLUMNS]; /* of the sample that was read last */
    uint64_t capacity[TUTTI_MAX_COLUMNS];
} data_set;

/* Opens what is at `path` with the data set `name`, or where that is NULL with one that such files or folders belong to, and
 * with `sets` ("classes=10") of its settings.  Says what is wrong on stderr; `d` is for data_set_close even then. */
bool data_set_open(data_set *d, registry *r, const char *path, const char *name,
                   const char *const *sets, size_t nsets);
void data_set_close(data_set *d);

/* Another reader of the same instance, for a thread of its own; its samples are its own, until data_set_unshare. */
data_set data_set_share(const data_set *d);
void data_set_unshare(data_set *d);

/* Reads sample `index` into `columns`. */
TUTTI_NODISCARD tutti_status data_set_read(data_set *d, int64_t index, tutti_error *err);

/* The file of which the picture in column `column` of the sample that was read last is made, added to `b`; *ret_size 0:
 * there is none.  Errors: E_NOMEM; those of reading it. */
TUTTI_NODISCARD tutti_status data_set_file(const data_set *d, uint32_t column, text_buffer *b,
                                           uint64_t *ret_size, tutti_error *err);
/* What class `k` of a column is called; NULL: it has no name. */
const char *data_set_class(const data_set *d, const char *column, int64_t k);

/* The column called `name`; -1: there is none. */
int data_set_column(const data_set *d, const char *name);
/* The number at `k` of a column's data, of whatever type. */
double data_value(const tutti_tensor *t, int64_t k);

#endif
