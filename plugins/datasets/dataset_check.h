/* dataset_check.h - a dataset under test through its entry function, and its samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DATASET_CHECK_H
#define DATASET_CHECK_H

#include "folder_check.h"
#include "plugin_check.h"

#include "tutti/dataset.h"

#include <stdio.h>

/* One opened dataset and a folder for its files, "$" in sentences. */
typedef struct shelf {
    subject subject;
    const tutti_dataset_v1 *table;
    tutti_dataset_info info;
    char folder[FOLDER_SIZE];
} shelf;

static inline void shelf_start(shelf *s)
{
    memset(s, 0, sizeof *s);
    folder_make(s->folder);
}

/* The path of `name` in the folder; valid until the next but three. */
static inline const char *shelf_path(const shelf *s, const char *name)
{
    static char paths[4][128];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", s->folder, name);
    return path;
}

static inline const char *shelf_file(const shelf *s, const char *name, const void *data,
                                     size_t size)
{
    const char *path = shelf_path(s, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

static inline tutti_status shelf_open(shelf *s, const char *name, const test_settings *g,
                                      tutti_error *err)
{
    const tutti_status status =
        subject_open(&s->subject, PLUGIN_PATH, TUTTI_KIND_DATASET, name, g, NULL, err);
    if (status)
        return status;
    s->table = subject_query(&s->subject, TUTTI_DATASET_V1);
    memset(&s->info, 0, sizeof s->info);
    s->info.struct_size = sizeof s->info;
    return s->table->info(s->subject.self, &s->info, err);
}

/* Reads a sample; both arrays hold TUTTI_MAX_COLUMNS, every column has `room` bytes at data[k]. */
static inline tutti_status shelf_read(shelf *s, int64_t index, tutti_tensor *columns,
                                      void *const *data, uint64_t room, tutti_error *err)
{
    uint64_t capacity[TUTTI_MAX_COLUMNS];
    for (uint32_t k = 0; k < s->info.ncolumns; k++) {
        columns[k] = (tutti_tensor){.data = data[k], .device = TUTTI_DEVICE_CPU};
        capacity[k] = room;
    }
    return s->table->read(s->subject.self, index, columns, capacity, s->info.ncolumns, err);
}

static inline void shelf_shape(const tutti_desc *d, const char *want)
{
    char text[96];
    ck_assert_str_eq(tutti_desc_text(d, text, sizeof text), want);
}

/* The error is this sentence, where "$" stands for the folder. */
static inline void shelf_says(const shelf *s, const tutti_error *err, tutti_status status,
                              const char *sentence)
{
    char want[512] = "";
    size_t used = 0;
    for (const char *c = sentence; *c; c++) {
        const size_t n = *c == '$' ? strlen(s->folder) : 1;
        ck_assert_uint_lt(used + n, sizeof want);
        memcpy(want + used, *c == '$' ? s->folder : c, n);
        used += n;
    }
    ck_assert_str_eq(err->text, want);
    ck_assert_int_eq(err->status, status);
}

/* Opening is refused with this sentence. */
static inline void shelf_refused(shelf *s, const char *name, const test_settings *g,
                                 tutti_status status, const char *sentence)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(shelf_open(s, name, g, &err), status);
    shelf_says(s, &err, status, sentence);
}

#if TUTTI_USE_MINOR >= 2
/* The dataset's groups begin at these samples. */
static inline void shelf_groups(shelf *s, const int64_t *first, int64_t count)
{
    const tutti_sample_groups_v1 *of = subject_query(&s->subject, TUTTI_SAMPLE_GROUPS_V1);
    ck_assert_int_eq(of->count(s->subject.self), count);
    for (int64_t k = 0; k < count; k++)
        ck_assert_int_eq(of->first(s->subject.self, k), first[k]);
}
#endif

#endif
