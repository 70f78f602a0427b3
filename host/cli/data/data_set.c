/* data_set.c - paths are told apart by what lies there and by their endings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data/data_set.h"

#include "base/text.h"
#include "train/data/samples.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 1 << 16, PATH_SIZE = 4096 };

/* ---- which data set ---- */

/* What is told by a file in the folder, or by the ending of the file. */
static const struct {
    bool folder;
    const char *mark;
    const char *name;    /* of the data set */
    const char *setting; /* that has the path */
} rows[] = {
    {true, "index.json", "mds", "path"},       {true, "data_batch_1.bin", "cifar_bin", "path"},
    {true, "train.bin", "cifar_bin", "path"},  {false, ".tar", "webdataset", "path"},
    {false, ".tar.gz", "webdataset", "path"},  {false, ".tgz", "webdataset", "path"},
    {false, ".tar.zst", "webdataset", "path"}, {false, ".npy", "npy", "inputs"},
    {false, ".npz", "npy", "inputs"},          {false, ".jsonl", "documents", "path"},
    {false, ".ndjson", "documents", "path"},   {false, ".json", "documents", "path"},
    {false, ".csv", "table", "path"},          {false, ".tsv", "table", "path"},
    {false, "-ubyte", "idx", "images"},        {false, "-ubyte.gz", "idx", "images"},
    {false, ".bin", "tokens_bin", "path"},     {false, ".txt", "text", "path"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* False with *ret_why where it cannot be read. */
static bool has_folders(const char *path, int *ret_why)
{
    DIR *dir = opendir(path);
    bool any = false;
    *ret_why = dir ? 0 : errno;
    for (const struct dirent *e; dir && !any && (e = readdir(dir));) {
        char below[PATH_SIZE];
        struct stat st;
        (void)snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        any = e->d_name[0] != '.' && stat(below, &st) == 0 && S_ISDIR(st.st_mode);
    }
    if (dir)
        (void)closedir(dir);
    return any;
}

/* Whether a setting is given that tables do not have and texts need. */
static bool has_tokenizer(const char *const *sets, size_t nsets)
{
    static const char key[] = "tokenizer_file=";
    bool any = false;
    for (size_t k = 0; k < nsets; k++)
        any = any || strncmp(sets[k], key, sizeof key - 1) == 0;
    return any;
}

/* Sets the data set's name and the setting for its path; false after saying that nothing fits. */
static bool guess_data_set(const char *path, bool texts, const char **ret_name,
                           const char **ret_setting)
{
    struct stat st;
    int why = 0;
    const bool there = stat(path, &st) == 0, folder = there && S_ISDIR(st.st_mode);
    for (size_t k = 0; k < ROWS; k++)
        if (rows[k].folder == folder &&
            (folder ? has_file(path, rows[k].mark) : ends_with(path, rows[k].mark))) {
            *ret_name =
                texts && strcmp(rows[k].name, "table") == 0 ? "documents" : rows[k].name;
            *ret_setting = rows[k].setting;
            return true;
        }
    if (folder && has_folders(path, &why)) {
        *ret_name = "image_folder";
        *ret_setting = "path";
        return true;
    }
    if (why)
        (void)fprintf(stderr, "tutti: %s: %s\n", path, strerror(why));
    else
        (void)fprintf(
            stderr,
            there ? "tutti: %s: nothing tells which data set it is; name one, as --as npy\n"
                  : "tutti: %s: there is no such file or folder\n",
            path);
    return false;
}

/* The setting for the path of the data set that the user names. */
static const char *path_setting(const char *name)
{
    for (size_t k = 0; k < ROWS; k++)
        if (strcmp(rows[k].name, name) == 0)
            return rows[k].setting;
    return "path";
}

/* ---- opening ---- */

static const void *no_services(void *ctx, instance *i, const char *interface_id)
{
    (void)ctx, (void)i, (void)interface_id;
    return NULL;
}

/* The settings as the run file's object would have them. */
static json_doc *write_settings(const char *setting, const char *path, const char *const *sets,
                                size_t nsets)
{
    text_buffer b = {.data = NULL};
    json_doc *doc = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    text_add(&b, "{");
    text_add_quoted(&b, setting);
    text_add(&b, ": ");
    text_add_quoted(&b, path);
    text_add(&b, "}");
    tutti_status s = b.failed ? tutti_fail(&e, TUTTI_E_NOMEM, "no memory")
                              : json_parse("settings", b.data, b.size, &doc, &e);
    free(b.data);
    for (size_t k = 0; k < nsets && !s; k++) {
        const char *value = strchr(sets[k], '=');
        char *key = strndup(sets[k], value ? (size_t)(value - sets[k]) : 0);
        s = !key    ? tutti_fail(&e, TUTTI_E_NOMEM, "no memory for --set %s", sets[k])
            : value ? json_override(doc, key, value + 1, &e)
                    : tutti_fail(&e, TUTTI_E_ARG, "--set %s: want KEY=VALUE", sets[k]);
        free(key);
    }
    if (!s)
        return doc;
    (void)fprintf(stderr, "tutti: %s\n", e.text);
    json_free(doc);
    return NULL;
}

/* Whether all settings are there that have to be; false after saying how the others are given. */
static bool has_required(const object *o, const json_doc *doc, const char *path)
{
    const json_node *specs = object_describe(o)->params;
    bool whole = true;
    for (size_t k = 0; k < json_count(specs); k++) {
        const json_node *spec = json_at(specs, k);
        const json_node *required = json_get(spec, "required");
        const char *name = json_key(spec), *type = json_string(json_get(spec, "type"));
        if (!required || !json_bool(required) || json_get(json_root(doc), name))
            continue;
        (void)fprintf(stderr, "tutti: %s: the data set %s wants %s: --set %s=%s gives it\n",
                      path, object_describe(o)->name, name, name,
                      type && strcmp(type, "path") == 0 ? "FILE" : "VALUE");
        whole = false;
    }
    return whole;
}

static tutti_params *read_settings(const object *o, const json_doc *doc, const char *path)
{
    if (!has_required(o, doc, path))
        return NULL;
    char here[PATH_SIZE];
    faults *f = faults_create();
    if (!f)
        (void)fprintf(stderr, "tutti: no memory for the settings of the data set\n");
    tutti_params *p = f && getcwd(here, sizeof here)
                          ? params_from_json(o, json_root(doc), NULL, here, f)
                          : NULL;
    for (size_t k = 0; f && k < faults_count(f); k++)
        (void)fprintf(stderr, "tutti: %s\n", faults_text(f, k));
    faults_destroy(f);
    return p;
}

static tutti_status open_instance(data_set *d, const object *o, tutti_params *params,
                                  tutti_error *err)
{
    const char *name = object_describe(o)->name;
    const tutti_status s = instance_open(o, name, params, no_services, NULL, &d->instance, err);
    if (s) {
        params_free(params);
        return s;
    }
    d->table = instance_query(d->instance, TUTTI_DATASET_V1);
    d->stored = instance_query(d->instance, TUTTI_STORED_V1);
    d->vocabulary = instance_query(d->instance, TUTTI_VOCABULARY_V1);
    d->info.struct_size = sizeof d->info;
    if (!d->table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "data set %s has no " TUTTI_DATASET_V1,
                          name);
    const tutti_status known = d->table->info(instance_self(d->instance), &d->info, err);
    return known ? known
                 : samples_check_columns("data set", name, d->info.columns, d->info.ncolumns,
                                         err);
}

bool data_set_open(data_set *d, registry *r, const char *path, const char *name,
                   const char *const *sets, size_t nsets)
{
    const char *setting = name ? path_setting(name) : NULL;
    const object *o;
    tutti_error e = TUTTI_ERROR_INIT;
    *d = (data_set){.instance = NULL};
    if (!name && !guess_data_set(path, has_tokenizer(sets, nsets), &name, &setting))
        return false;
    tutti_status s = registry_find(r, TUTTI_KIND_DATASET, name, &o, &e);
    json_doc *doc = s ? NULL : write_settings(setting, path, sets, nsets);
    tutti_params *params = doc ? read_settings(o, doc, path) : NULL;
    json_free(doc);
    if (params)
        s = open_instance(d, o, params, &e);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    return params && !s;
}

void data_set_close(data_set *d)
{
    data_set_unshare(d);
    instance_free(d->instance);
}

/* ---- samples ---- */

data_set data_set_share(const data_set *d)
{
    data_set own = *d;
    memset(own.columns, 0, sizeof own.columns);
    memset(own.capacity, 0, sizeof own.capacity);
    return own;
}

void data_set_unshare(data_set *d)
{
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS; k++)
        free(d->columns[k].data);
}

static bool grow_column(data_set *d, uint32_t k, uint64_t bytes)
{
    if (bytes <= d->capacity[k])
        return true;
    void *more = realloc(d->columns[k].data, bytes);
    if (!more)
        return false;
    d->columns[k].data = more;
    d->capacity[k] = bytes;
    return true;
}

tutti_status data_set_read(data_set *d, int64_t index, tutti_error *err)
{
    const uint32_t n = d->info.ncolumns;
    uint64_t capacity = FIRST_CAPACITY;
    d->index = index;
    for (int attempt = 0;; attempt++) {
        tutti_error e = TUTTI_ERROR_INIT;
        for (uint32_t k = 0; k < n; k++) {
            if (!grow_column(d, k, capacity))
                return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a sample");
            d->columns[k].desc = d->info.columns[k].desc;
            d->columns[k].device = TUTTI_DEVICE_CPU;
        }
        const tutti_status s =
            samples_read_one(d->instance, d->table, index, d->columns, d->capacity, n, &e);
        if (s != TUTTI_E_RANGE || attempt == TUTTI_MAX_COLUMNS)
            return s ? tutti_fail(err, s, "%s", e.text) : TUTTI_OK;
        /* The one that has too little room says what it needs. */
        for (uint32_t k = 0; k < n; k++) {
            const uint64_t bytes = tutti_nbytes(&d->columns[k].desc);
            if (bytes > d->capacity[k] && !grow_column(d, k, bytes))
                return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a sample");
        }
    }
}

tutti_status data_set_file(const data_set *d, uint32_t column, text_buffer *b,
                           uint64_t *ret_size, tutti_error *err)
{
    void *data = NULL;
    uint64_t size = 0, capacity;
    tutti_status s = TUTTI_OK;
    do { /* once to learn its size */
        capacity = size;
        void *more = realloc(data, capacity + 1);
        if (!more) {
            free(data);
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a picture");
        }
        data = more;
        if (d->stored)
            s = samples_file_one(d->instance, d->stored, d->index, column, data, capacity,
                                 &size, err);
    } while (!s && size > capacity);
    if (!s && size)
        text_add_bytes(b, data, size);
    *ret_size = size;
    free(data);
    return s;
}

const char *data_set_class(const data_set *d, const char *column, int64_t k)
{
    const tutti_class_names_v1 *table = instance_query(d->instance, TUTTI_CLASS_NAMES_V1);
    return table ? table->name(instance_self(d->instance), column, k) : NULL;
}

int data_set_column(const data_set *d, const char *name)
{
    for (uint32_t k = 0; k < d->info.ncolumns; k++)
        if (strncmp(d->info.columns[k].name, name, sizeof d->info.columns[k].name) == 0)
            return (int)k;
    return -1;
}

double data_value(const tutti_tensor *t, int64_t k)
{
    switch (t->desc.dtype) {
    case TUTTI_F32:
        return ((const float *)t->data)[k];
    case TUTTI_F64:
        return ((const double *)t->data)[k];
    case TUTTI_I64:
        return (double)((const int64_t *)t->data)[k];
    case TUTTI_I32:
        return ((const int32_t *)t->data)[k];
    case TUTTI_U8:
        return ((const uint8_t *)t->data)[k];
    default:
        return 0;
    }
}
