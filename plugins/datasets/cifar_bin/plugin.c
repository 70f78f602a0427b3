/* plugin.c - cifar_bin: records of label bytes and planes of pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/tutti.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE };

typedef struct variant {
    const char *name;
    uint64_t labels; /* label bytes of a record */
    uint64_t label;  /* the one that counts */
    int32_t classes;
    int32_t nfiles;
    const char *files[2][5]; /* of train, of test */
} variant;

static const variant variants[] = {
    {"cifar10",
     1,
     0,
     10,
     5,
     {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
       "data_batch_5.bin"},
      {"test_batch.bin"}}},
    {"cifar100", 2, 1, 100, 1, {{"train.bin"}, {"test.bin"}}},
    {"cifar100_coarse", 2, 0, 20, 1, {{"train.bin"}, {"test.bin"}}},
};

typedef struct cifar {
    const variant *is;
    unsigned char *records;
    uint64_t record; /* bytes of one */
    int64_t samples;
} cifar;

/* Appends a file's records, whose labels it checks. */
static tutti_status add_file(cifar *c, const char *path, tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    FILE *f = fd < 0 || fstat(fd, &st) != 0 ? NULL : fdopen(fd, "rb");
    if (!f) {
        const int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(why));
    }
    const uint64_t bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    const uint64_t had = (uint64_t)c->samples * c->record;
    tutti_status status = TUTTI_OK;
    unsigned char *more = NULL;
    if (bytes == 0 || bytes % c->record)
        status =
            tutti_fail(err, TUTTI_E_FORMAT,
                       "%s: has %llu bytes, want a multiple of the %llu of a %s record", path,
                       (unsigned long long)bytes, (unsigned long long)c->record, c->is->name);
    else if (!(more = realloc(c->records, had + bytes)))
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                            (unsigned long long)bytes);
    else if (fread(more + had, 1, bytes, f) != bytes)
        status = tutti_fail(err, TUTTI_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    (void)fclose(f);
    if (more)
        c->records = more;
    for (uint64_t k = 0; status == TUTTI_OK && k < bytes / c->record; k++) {
        const int label = c->records[had + k * c->record + c->is->label];
        if (label >= c->is->classes)
            status = tutti_fail(err, TUTTI_E_RANGE, "%s: sample %llu: label %d, want 0 to %d",
                                path, (unsigned long long)k, label, c->is->classes - 1);
    }
    if (status == TUTTI_OK)
        c->samples += (int64_t)(bytes / c->record);
    return status;
}

static tutti_status add_files(cifar *c, const char *path, int test, tutti_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_file(c, path, err);
    tutti_status status = TUTTI_OK;
    for (int k = 0; status == TUTTI_OK && k < c->is->nfiles && c->is->files[test][k]; k++) {
        char file[PATH_MAX];
        if (snprintf(file, sizeof file, "%s/%s", path, c->is->files[test][k]) >=
            (int)sizeof file)
            return tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", path);
        status = add_file(c, file, err);
    }
    return status;
}

static tutti_status cifar_bin_info(void *self, tutti_dataset_info *ret, tutti_error *err)
{
    const cifar *c = self;
    const tutti_column input = {"input", {{SIDE, SIDE, 3}, 3, TUTTI_U8}, 0};
    const tutti_column target = {"target", {{0}, 0, TUTTI_I32}, c->is->classes};
    (void)err;
    ret->samples = c->samples;
    ret->ncolumns = 2;
    ret->columns[0] = input;
    ret->columns[1] = target;
    return TUTTI_OK;
}

static tutti_status cifar_bin_read(void *self, int64_t index, tutti_tensor *columns,
                                   const uint64_t *capacity, uint32_t ncolumns,
                                   tutti_error *err)
{
    const cifar *c = self;
    if (index < 0 || index >= c->samples || ncolumns != 2)
        return tutti_fail(err, TUTTI_E_RANGE, "cifar_bin: sample %lld, there are %lld",
                          (long long)index, (long long)c->samples);
    columns[0].desc = (tutti_desc){{SIDE, SIDE, 3}, 3, TUTTI_U8};
    columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I32};
    if (capacity[0] < PIXELS || capacity[1] < sizeof(int32_t))
        return tutti_fail(err, TUTTI_E_RANGE,
                          "cifar_bin: sample %lld does not fit into %llu "
                          "and %llu bytes",
                          (long long)index, (unsigned long long)capacity[0],
                          (unsigned long long)capacity[1]);
    const unsigned char *record = c->records + (uint64_t)index * c->record;
    const unsigned char *red = record + c->is->labels;
    unsigned char *to = columns[0].data;
    for (int k = 0; k < PLANE; k++) {
        to[3 * k] = red[k];
        to[3 * k + 1] = red[PLANE + k];
        to[3 * k + 2] = red[2 * PLANE + k];
    }
    *(int32_t *)columns[1].data = record[c->is->label];
    return TUTTI_OK;
}

static tutti_status cifar_bin_close(void *self, tutti_error *err)
{
    cifar *c = self;
    (void)err;
    free(c->records);
    free(c);
    return TUTTI_OK;
}

static tutti_status cifar_bin_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    (void)host;
    cifar *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "cifar_bin: no memory");
    c->is = &variants[tutti_param_i64(params, "variant")];
    c->record = c->is->labels + PIXELS;
    const tutti_status status = add_files(c, tutti_param_str(params, "path"),
                                          tutti_param_i64(params, "split") == 1, err);
    if (status)
        (void)cifar_bin_close(c, NULL);
    else
        *ret_self = c;
    return status;
}

static const void *cifar_bin_query(void *self, const char *id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = cifar_bin_info, .read = cifar_bin_read};
    (void)self;
    return strcmp(id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = cifar_bin_open,
                                  .close = cifar_bin_close,
                                  .query = cifar_bin_query};
static const tutti_object object = TUTTI_OBJECT_INIT("cifar_bin", TUTTI_KIND_DATASET, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.cifar_bin", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
