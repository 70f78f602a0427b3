/* samples.c - threads read samples straight to their places. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/samples.h"

#include <stdlib.h>
#include <string.h>

tutti_status samples_bytes(const tutti_dataset_info *info, uint64_t *ret_bytes,
                           tutti_error *err)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < info->ncolumns; k++) {
        const tutti_desc *d = &info->columns[k].desc;
        for (int32_t r = 0; r < d->rank; r++)
            if (d->dim[r] < 0)
                return tutti_fail(err, TUTTI_E_SHAPE,
                                  "column %s differs in shape from sample to sample",
                                  info->columns[k].name);
        bytes += (uint64_t)info->samples * tutti_nbytes(d);
    }
    *ret_bytes = bytes;
    return TUTTI_OK;
}

/* Ends a call of the data set within a refuge. */
static tutti_status leave_refuge(int64_t index, tutti_status s, tutti_error *err)
{
    if (!crash_refuge_leave())
        return s;
    tutti_error lost = TUTTI_ERROR_INIT;
    s = crash_lost_file(&lost);
    *err = (tutti_error)TUTTI_ERROR_INIT;
    return tutti_fail(err, s, "sample %lld: %s", (long long)index, lost.text);
}

tutti_status samples_failed(const char *kind, const instance *who, int64_t index,
                            tutti_status status, tutti_error *err)
{
    if (err->text[0] && err->status)
        return status;
    if (err->text[0])
        err->status = status < 0 ? status : TUTTI_E_FAIL;
    else
        (void)tutti_fail(err, status < 0 ? status : TUTTI_E_FAIL,
                         "sample %lld: %s %s returned %s without saying why", (long long)index,
                         kind, instance_name(who), tutti_status_name(status));
    return err->status;
}

tutti_status samples_read_one(instance *dataset, const tutti_dataset_v1 *table, int64_t index,
                              tutti_tensor *columns, const uint64_t *capacity,
                              uint32_t ncolumns, tutti_error *err)
{
    instance_call c = instance_enter(dataset, "read");
    crash_refuge_enter();
    tutti_status s =
        table->read(instance_self(dataset), index, columns, capacity, ncolumns, err);
    s = leave_refuge(index, s, err);
    instance_leave(&c);
    return s ? samples_failed("dataset", dataset, index, s, err) : TUTTI_OK;
}

tutti_status samples_file_one(instance *dataset, const tutti_stored_v1 *table, int64_t index,
                              uint32_t column, void *to, uint64_t capacity, uint64_t *ret_size,
                              tutti_error *err)
{
    instance_call c = instance_enter(dataset, "file");
    crash_refuge_enter();
    tutti_status s =
        table->file(instance_self(dataset), index, column, to, capacity, ret_size, err);
    s = leave_refuge(index, s, err);
    instance_leave(&c);
    return s ? samples_failed("dataset", dataset, index, s, err) : TUTTI_OK;
}

/* Sample `index` to row `row`. */
static tutti_status read_one(const tutti_dataset_v1 *table, instance *dataset,
                             const tutti_dataset_info *info, int64_t index, int64_t row,
                             void *const *to, tutti_error *err)
{
    tutti_tensor sample[TUTTI_MAX_COLUMNS];
    uint64_t capacity[TUTTI_MAX_COLUMNS];
    memset(sample, 0, sizeof sample);
    for (uint32_t k = 0; k < info->ncolumns; k++) {
        capacity[k] = tutti_nbytes(&info->columns[k].desc);
        sample[k] = (tutti_tensor){(char *)to[k] + (uint64_t)row * capacity[k],
                                   info->columns[k].desc, TUTTI_DEVICE_CPU, 0};
    }
    const tutti_status s =
        samples_read_one(dataset, table, index, sample, capacity, info->ncolumns, err);
    for (uint32_t k = 0; k < info->ncolumns && !s; k++) {
        char have[96], want[96];
        if (!tutti_same_shape(&sample[k].desc, &info->columns[k].desc))
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "sample %lld: column %s is %s, the others are %s",
                              (long long)index, info->columns[k].name,
                              tutti_desc_text(&sample[k].desc, have, sizeof have),
                              tutti_desc_text(&info->columns[k].desc, want, sizeof want));
    }
    return s;
}

tutti_status samples_read(instance *dataset, const tutti_dataset_info *info, int64_t first,
                          int64_t count, uint32_t threads, void *const *to, tutti_error *err)
{
    const tutti_dataset_v1 *table = instance_query(dataset, TUTTI_DATASET_V1);
    tutti_error cause = TUTTI_ERROR_INIT;
    int64_t bad = count; /* the earliest row that failed; later ones need not be read */
#pragma omp parallel for schedule(dynamic, 16) num_threads((int)threads) if (threads > 1)
    for (int64_t row = 0; row < count; row++) {
        tutti_error e = TUTTI_ERROR_INIT;
        int64_t known;
#pragma omp atomic read
        known = bad;
        if (row < known && read_one(table, dataset, info, first + row, row, to, &e)) {
#pragma omp critical(samples_failed)
            if (row < bad) {
                cause = e;
#pragma omp atomic write
                bad = row;
            }
        }
    }
    return bad < count ? tutti_fail(err, cause.status, "%s", cause.text) : TUTTI_OK;
}

tutti_status samples_check_columns(const char *kind, const char *name,
                                   const tutti_column *columns, uint32_t n, tutti_error *err)
{
    if (n > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_RANGE, "%s %s: %u columns, at most %d are possible",
                          kind, name, n, TUTTI_MAX_COLUMNS);
    for (uint32_t k = 0; k < n; k++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        if (tutti_desc_check(&columns[k].desc, -1, &cause))
            return tutti_fail(err, cause.status, "%s %s: column %.32s: %s", kind, name,
                              columns[k].name, cause.text);
    }
    return TUTTI_OK;
}
