/* index.c - index.json: which shards there are, and their columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/json_memory.h"
#include "digest.h"
#include "remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

static char *shard_join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static tutti_status bad_index(const mds_set *set, const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s/index.json: %s", set->folder, what);
}

/* {"basename", "bytes", "hashes"} of raw_data or zip_data.  The first hash that is known here is
 * kept; there may be none at all, but not only unknown ones. */
static tutti_status read_file_info(mds_set *set, const json_t *file, mds_file *ret,
                                   tutti_error *err)
{
    const char *name = json_string_value(json_object_get(file, "basename")), *kind;
    json_t *hashes = json_object_get(file, "hashes"), *value;
    char text[MDS_DIGEST_SIZE];
    const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
    if (!name || !*name || strstr(name, "..") || bytes < 1 || bytes > INT64_MAX / 2)
        return bad_index(set, "a shard's file lacks a sound basename or bytes", err);
    ret->path = shard_join(set->folder, name);
    ret->bytes = (uint64_t)bytes;
    int memory = ret->path != NULL;
    json_object_foreach(hashes, kind, value)
    {
        if (ret->hash || !json_is_string(value) || !mds_digest(kind, "", 0, text))
            continue;
        ret->hash_kind = strdup(kind);
        ret->hash = strdup(json_string_value(value));
        memory = memory && ret->hash_kind && ret->hash;
    }
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    if (set->verify && json_object_size(hashes) > 0 && !ret->hash)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "%s/index.json: %s has only the hash %s, which is not known here; "
                          "verify false reads it unverified",
                          set->folder, name, json_object_iter_key(json_object_iter(hashes)));
    return TUTTI_OK;
}

/* One column, as the first shard has it; every other shard has the same. */
static tutti_status read_column(mds_set *set, uint32_t k, const char *name,
                                const char *encoding, const json_t *size, int first,
                                tutti_error *err)
{
    mds_column *c = &set->columns[k];
    if (!name || !encoding || strlen(name) > 31 ||
        (json_is_integer(size) && json_integer_value(size) < 0))
        return bad_index(set, "a column has no sound name, encoding or size", err);
    if (!first)
        return strcmp(c->name, name) || strcmp(c->encoding, encoding)
                   ? bad_index(set, "shards differ in their columns", err)
                   : TUTTI_OK;
    c->name = strdup(name);
    c->encoding = strdup(encoding);
    c->size = json_is_integer(size) ? json_integer_value(size) : -1;
    set->ncolumns = k + 1;
    return c->name && c->encoding ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
}

/* Names of encodings of lines and JSON, as those of the texts that the columns are. */
static const char *text_encoding(const char *encoding)
{
    return !encoding                        ? NULL
           : strcmp(encoding, "int") == 0   ? "str_int"
           : strcmp(encoding, "float") == 0 ? "str_float"
                                            : encoding;
}

static tutti_status read_columns(mds_set *set, const json_t *shard, int first, tutti_error *err)
{
    json_t *object = json_object_get(shard, "columns"), *value;
    const json_t *names = json_object_get(shard, "column_names");
    const json_t *encodings = json_object_get(shard, "column_encodings");
    const json_t *sizes = json_object_get(shard, "column_sizes");
    const int binary = set->format == MDS_BINARY, json = set->format == MDS_JSON;
    const size_t n = json ? json_object_size(object) : json_array_size(names);
    const char *name;
    tutti_status s = TUTTI_OK;
    uint32_t at = 0;
    if (n == 0 || n > MDS_MAX_COLUMNS || (!json && json_array_size(encodings) != n) ||
        (binary && json_array_size(sizes) != n))
        return bad_index(set, "column_names, column_encodings and column_sizes do not agree",
                         err);
    if (!first && n != set->ncolumns)
        return bad_index(set, "shards differ in their columns", err);
    for (size_t k = 0; s == TUTTI_OK && !json && k < n; k++) {
        const char *encoding = json_string_value(json_array_get(encodings, k));
        s = read_column(set, (uint32_t)k, json_string_value(json_array_get(names, k)),
                        binary ? encoding : text_encoding(encoding),
                        binary ? json_array_get(sizes, k) : NULL, first, err);
    }
    if (json)
        json_object_foreach(object, name, value) if (s == TUTTI_OK) s = read_column(
            set, at++, name, text_encoding(json_string_value(value)), NULL, first, err);
    return s;
}

/* How samples stand in the shard's data; every other shard's do as the first one's. */
static tutti_status read_format(mds_set *set, const json_t *shard, int first, tutti_error *err)
{
    static const struct {
        const char *name, *separator;
        int32_t format;
    } table[] = {{"mds", NULL, MDS_BINARY},
                 {"json", NULL, MDS_JSON},
                 {"xsv", NULL, MDS_LINES},
                 {"csv", ",", MDS_LINES},
                 {"tsv", "\t", MDS_LINES}};
    const char *name = json_string_value(json_object_get(shard, "format"));
    const char *newline = json_string_value(json_object_get(shard, "newline"));
    const char *separator = json_string_value(json_object_get(shard, "separator"));
    size_t k = 0, known = sizeof table / sizeof *table;
    while (k < known && name && strcmp(table[k].name, name) != 0)
        k++;
    if (!name || k == known || json_integer_value(json_object_get(shard, "version")) != 2)
        return bad_index(set, "a shard is not of format mds, json, xsv, csv or tsv, version 2",
                         err);
    if (!first && set->format != table[k].format)
        return bad_index(set, "shards differ in their format", err);
    set->format = table[k].format;
    if (set->format != MDS_LINES)
        return TUTTI_OK;
    separator = table[k].separator ? table[k].separator : separator;
    if (!newline || !*newline || !separator || !*separator)
        return bad_index(set, "a shard of lines lacks its newline or separator", err);
    if (!first)
        return strcmp(set->newline, newline) || strcmp(set->separator, separator)
                   ? bad_index(set, "shards differ in their newlines or separators", err)
                   : TUTTI_OK;
    set->newline = strdup(newline);
    set->separator = strdup(separator);
    return set->newline && set->separator ? TUTTI_OK
                                          : tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
}

/* The files of the shard: of all formats but mds one of data and one of meta data. */
static tutti_status read_parts(mds_set *set, mds_shard *s, const json_t *shard,
                               tutti_error *err)
{
    static const char *const raw[] = {"raw_data", "raw_meta"}, *const zip[] = {"zip_data",
                                                                               "zip_meta"};
    const char *compression = json_string_value(json_object_get(shard, "compression"));
    const int parts = set->format == MDS_BINARY ? 1 : MDS_PARTS;
    s->zip_kind = strdup(compression ? compression : "");
    if (!s->zip_kind)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    for (int k = 0; k < parts; k++) {
        const json_t *packed = json_object_get(shard, zip[k]);
        tutti_status status =
            read_file_info(set, json_object_get(shard, raw[k]), &s->part[k].raw, err);
        if (status == TUTTI_OK && json_is_object(packed))
            status = read_file_info(set, packed, &s->part[k].zip, err);
        if (status)
            return status;
    }
    return TUTTI_OK;
}

static tutti_status read_shard(mds_set *set, const json_t *json, int first, tutti_error *err)
{
    mds_shard *s = &set->shards[set->nshards];
    const json_int_t samples = json_integer_value(json_object_get(json, "samples"));
    tutti_status status = read_format(set, json, first, err);
    if (status)
        return status;
    set->nshards++;
    s->folder = set->nfolders - 1;
    if (samples < 0 || samples > UINT32_MAX)
        return bad_index(set, "a shard's number of samples is not from 0 to 4294967295", err);
    s->samples = samples;
    s->first = set->samples;
    set->samples += s->samples;
    if ((status = read_columns(set, json, first, err)))
        return status;
    return read_parts(set, s, json, err);
}

/* The file, which is a regular one: reading a pipe would wait for its other end. */
static tutti_status load_index(const char *folder, json_t **ret, tutti_error *err)
{
    json_error_t why;
    struct stat st;
    char *path = shard_join(folder, "index.json");
    if (!path)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    const int missing = stat(path, &st) != 0;
    tutti_status s = TUTTI_OK;
    if (missing)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path);
    const unsigned long before = json_memory_watch();
    *ret = s ? NULL : json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!s)
        s = json_memory_told(before, ret, path, err);
    if (!s && !*ret)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s:%d: %s", path, why.line, why.text);
    free(path);
    return s;
}

/* One more folder, without shards. */
static tutti_status add_folder(mds_set *set, const char *path, struct remote *there,
                               tutti_error *err)
{
    mds_folder *more = realloc(set->folders, (set->nfolders + 1) * sizeof *more);
    char *copy = strdup(path);
    if (more)
        set->folders = more;
    if (!more || !copy) {
        free(copy);
        remote_close(there);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    more[set->nfolders++] = (mds_folder){copy, there, 0, 0};
    set->folder = copy;
    return TUTTI_OK;
}

static tutti_status add_shards(mds_set *set, const json_t *list, tutti_error *err)
{
    const size_t n = json_array_size(list);
    mds_shard *more = realloc(set->shards, (set->nshards + n + 1) * sizeof *more);
    tutti_status s = TUTTI_OK;
    if (!more)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    memset(more + set->nshards, 0, (n + 1) * sizeof *more);
    set->shards = more;
    if (n == 0)
        return bad_index(set, "it lists no shards", err);
    for (size_t k = 0; s == TUTTI_OK && k < n; k++)
        s = read_shard(set, json_array_get(list, k), set->nshards == 0, err);
    return s;
}

tutti_status mds_add(mds_set *set, const char *folder, struct remote *there, tutti_error *err)
{
    const int64_t samples = set->samples;
    const uint64_t shards = set->nshards;
    json_t *root = NULL;
    tutti_status s = add_folder(set, folder, there, err);
    if (s || (s = load_index(folder, &root, err)))
        return s;
    s = add_shards(set, json_object_get(root, "shards"), err);
    json_decref(root);
    mds_folder *f = &set->folders[set->nfolders - 1];
    f->samples = set->samples - samples;
    f->shards = (int64_t)(set->nshards - shards);
    return s == TUTTI_OK && f->samples == 0 ? bad_index(set, "the set is empty", err) : s;
}

void mds_seal(mds_set *set)
{
    (void)pthread_mutex_init(&set->closer, NULL);
    for (uint64_t k = 0; k < set->nshards; k++)
        (void)pthread_mutex_init(&set->shards[k].lock, NULL);
    set->sealed = 1;
}

int32_t mds_find(const mds_set *set, const char *name)
{
    for (uint32_t k = 0; k < set->ncolumns; k++)
        if (strcmp(set->columns[k].name, name) == 0)
            return (int32_t)k;
    return -1;
}
