/* shard.c - reading indexes and shards: hashes, zstd, offsets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <xxhash.h>
#include <zstd.h>

/* ---- index.json ---- */

static char *join(const char *folder, const char *name)
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

/* {"basename", "bytes", "hashes"} of raw_data or zip_data. */
static tutti_status read_file_info(mds_set *set, mds_shard *s, const json_t *file,
                                   const json_t *wanted, char **ret_path, uint64_t *ret_bytes,
                                   tutti_error *err)
{
    const char *name = json_string_value(json_object_get(file, "basename"));
    const json_t *hashes = json_object_get(file, "hashes");
    if (!name || !*name || strstr(name, "..") ||
        !json_is_integer(json_object_get(file, "bytes")))
        return bad_index(set, "a shard's file lacks a sound basename or bytes", err);
    *ret_path = join(set->folder, name);
    *ret_bytes = (uint64_t)json_integer_value(json_object_get(file, "bytes"));
    const char *kind = json_string_value(json_array_get(wanted, 0));
    const char *hash = kind ? json_string_value(json_object_get(hashes, kind)) : NULL;
    free(s->hash_kind);
    free(s->hash);
    s->hash_kind = hash ? strdup(kind) : NULL;
    s->hash = hash ? strdup(hash) : NULL;
    return *ret_path ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
}

static tutti_status read_columns(mds_set *set, const json_t *shard, int first, tutti_error *err)
{
    const json_t *names = json_object_get(shard, "column_names");
    const json_t *encodings = json_object_get(shard, "column_encodings");
    const json_t *sizes = json_object_get(shard, "column_sizes");
    const size_t n = json_array_size(names);
    if (n == 0 || n > MDS_MAX_COLUMNS || json_array_size(encodings) != n ||
        json_array_size(sizes) != n)
        return bad_index(set, "column_names, column_encodings and column_sizes do not agree",
                         err);
    if (!first && n != set->ncolumns)
        return bad_index(set, "shards differ in their columns", err);
    for (size_t k = 0; k < n; k++) {
        const char *name = json_string_value(json_array_get(names, k));
        const char *encoding = json_string_value(json_array_get(encodings, k));
        const json_t *size = json_array_get(sizes, k);
        if (!name || !encoding || strlen(name) > 31)
            return bad_index(set, "a column has no sound name or encoding", err);
        if (!first) {
            if (strcmp(set->columns[k].name, name) ||
                strcmp(set->columns[k].encoding, encoding))
                return bad_index(set, "shards differ in their columns", err);
            continue;
        }
        set->columns[k].name = strdup(name);
        set->columns[k].encoding = strdup(encoding);
        set->columns[k].size = json_is_integer(size) ? json_integer_value(size) : -1;
        set->ncolumns = (uint32_t)k + 1;
        if (!set->columns[k].name || !set->columns[k].encoding)
            return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    return TUTTI_OK;
}

static tutti_status read_shard(mds_set *set, const json_t *json, int first, tutti_error *err)
{
    mds_shard *s = &set->shards[set->nshards];
    const json_t *zip = json_object_get(json, "zip_data");
    const json_t *hashes = json_object_get(json, "hashes");
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *compression = json_string_value(json_object_get(json, "compression"));
    if (!format || strcmp(format, "mds") != 0 ||
        json_integer_value(json_object_get(json, "version")) != 2)
        return bad_index(set, "a shard is not of format mds, version 2", err);
    (void)pthread_mutex_init(&s->lock, NULL);
    set->nshards++;
    s->samples = json_integer_value(json_object_get(json, "samples"));
    s->first = set->samples;
    if (s->samples < 0)
        return bad_index(set, "a shard has a negative number of samples", err);
    set->samples += s->samples;
    tutti_status status = read_columns(set, json, first, err);
    if (status)
        return status;
    if ((status = read_file_info(set, s, json_object_get(json, "raw_data"), hashes,
                                 &s->raw_path, &s->raw_bytes, err)))
        return status;
    if (!json_is_object(zip))
        return TUTTI_OK;
    s->zip_kind = strdup(compression ? compression : "");
    return read_file_info(set, s, zip, hashes, &s->zip_path, &s->zip_bytes, err);
}

tutti_status mds_open(mds_set *set, const char *folder, int32_t verify, tutti_error *err)
{
    json_error_t why;
    memset(set, 0, sizeof *set);
    set->verify = verify;
    set->folder = strdup(folder);
    char *path = join(folder, "index.json");
    if (!set->folder || !path) {
        free(path);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    struct stat st;
    if (stat(path, &st) != 0) {
        const tutti_status s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
        free(path);
        return s;
    }
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    free(path);
    if (!root)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s/index.json:%d: %s", folder, why.line,
                          why.text);
    const json_t *shards = json_object_get(root, "shards");
    const size_t n = json_array_size(shards);
    tutti_status s = TUTTI_OK;
    set->shards = calloc(n + 1, sizeof *set->shards);
    if (!set->shards)
        s = tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    else if (n == 0)
        s = bad_index(set, "it lists no shards", err);
    for (size_t k = 0; s == TUTTI_OK && k < n; k++)
        s = read_shard(set, json_array_get(shards, k), k == 0, err);
    json_decref(root);
    if (s == TUTTI_OK && set->samples == 0)
        s = bad_index(set, "the set is empty", err);
    return s;
}

void mds_close(mds_set *set)
{
    for (uint64_t k = 0; k < set->nshards; k++) {
        mds_shard *s = &set->shards[k];
        if (s->mapped)
            (void)munmap((void *)(uintptr_t)s->data, (size_t)s->size);
        else
            free((void *)(uintptr_t)s->data);
        free(s->raw_path);
        free(s->zip_path);
        free(s->zip_kind);
        free(s->hash_kind);
        free(s->hash);
        (void)pthread_mutex_destroy(&s->lock);
    }
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        free(set->columns[k].name);
        free(set->columns[k].encoding);
    }
    free(set->shards);
    free(set->folder);
    memset(set, 0, sizeof *set);
}

int32_t mds_find(const mds_set *set, const char *name)
{
    for (uint32_t k = 0; k < set->ncolumns; k++)
        if (strcmp(set->columns[k].name, name) == 0)
            return (int32_t)k;
    return -1;
}

/* ---- shards ---- */

static void hex(const unsigned char *bytes, size_t n, char *text)
{
    for (size_t k = 0; k < n; k++)
        (void)snprintf(text + 2 * k, 3, "%02x", bytes[k]);
}

/* Hash names as Python's hashlib and xxhash give them. */
static tutti_status verify(const mds_shard *s, const char *path, const void *data,
                           uint64_t size, tutti_error *err)
{
    char have[2 * EVP_MAX_MD_SIZE + 1] = "";
    if (!s->hash_kind)
        return TUTTI_OK;
    if (strcmp(s->hash_kind, "xxh64") == 0)
        (void)snprintf(have, sizeof have, "%016llx", (unsigned long long)XXH64(data, size, 0));
    else if (strcmp(s->hash_kind, "xxh3_64") == 0)
        (void)snprintf(have, sizeof have, "%016llx",
                       (unsigned long long)XXH3_64bits(data, size));
    else if (strcmp(s->hash_kind, "xxh128") == 0 || strcmp(s->hash_kind, "xxh3_128") == 0) {
        const XXH128_hash_t h = XXH3_128bits(data, size);
        (void)snprintf(have, sizeof have, "%016llx%016llx", (unsigned long long)h.high64,
                       (unsigned long long)h.low64);
    } else {
        const EVP_MD *md = EVP_get_digestbyname(s->hash_kind);
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned n = 0;
        if (!md || EVP_Digest(data, size, digest, &n, md, NULL) != 1)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: the hash %s is not known here",
                              path, s->hash_kind);
        hex(digest, n, have);
    }
    if (strcasecmp(have, s->hash) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is %s, the index says %s", path,
                          s->hash_kind, have, s->hash);
    return TUTTI_OK;
}

static tutti_status map_file(const char *path, uint64_t want, const unsigned char **ret_data,
                             tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    tutti_status s = TUTTI_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if ((uint64_t)st.st_size != want)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu bytes, the index says %llu", path,
                       (unsigned long long)st.st_size, (unsigned long long)want);
    else {
        void *map = mmap(NULL, (size_t)want, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            s = tutti_fail(err, TUTTI_E_IO, "%s: cannot be mapped: %s", path, strerror(errno));
        else
            *ret_data = map;
    }
    if (fd >= 0)
        (void)close(fd);
    return s;
}

static tutti_status inflate(mds_shard *s, const unsigned char *zip, tutti_error *err)
{
    if (strncmp(s->zip_kind, "zstd", 4) != 0)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: compressed by %s, want zstd",
                          s->zip_path, s->zip_kind);
    unsigned char *raw = malloc(s->raw_bytes ? s->raw_bytes : 1);
    if (!raw)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", s->zip_path,
                          (unsigned long long)s->raw_bytes);
    const size_t n = ZSTD_decompress(raw, s->raw_bytes, zip, s->zip_bytes);
    if (ZSTD_isError(n) || n != s->raw_bytes) {
        free(raw);
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: cannot be inflated: %s", s->zip_path,
                          ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong size");
    }
    s->data = raw;
    s->size = s->raw_bytes;
    return TUTTI_OK;
}

/* An uncompressed copy is used when it is there, as Streaming does. */
static tutti_status load(mds_set *set, mds_shard *s, tutti_error *err)
{
    const int zipped = s->zip_path && access(s->raw_path, F_OK) != 0;
    const char *path = zipped ? s->zip_path : s->raw_path;
    const uint64_t bytes = zipped ? s->zip_bytes : s->raw_bytes;
    const unsigned char *data = NULL;
    tutti_status status = map_file(path, bytes, &data, err);
    /* with zip_data the index's hash is the compressed file's */
    if (status == TUTTI_OK && set->verify && zipped == (s->zip_path != NULL))
        status = verify(s, path, data, bytes, err);
    if (status == TUTTI_OK && zipped)
        status = inflate(s, data, err);
    else if (status == TUTTI_OK) {
        s->data = data;
        s->size = bytes;
        s->mapped = 1;
        return TUTTI_OK;
    }
    if (data)
        (void)munmap((void *)(uintptr_t)data, (size_t)bytes);
    return status;
}

static tutti_status ensure(mds_set *set, mds_shard *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    if (__atomic_load_n(&s->ready, __ATOMIC_ACQUIRE))
        return TUTTI_OK;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->ready && (status = load(set, s, err)) == TUTTI_OK)
        __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

mds_shard *mds_shard_of(mds_set *set, int64_t index)
{
    uint64_t low = 0, high = set->nshards;
    while (high - low > 1) {
        const uint64_t mid = (low + high) / 2;
        if (set->shards[mid].first <= index)
            low = mid;
        else
            high = mid;
    }
    return &set->shards[low];
}

static uint32_t u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* u32 samples, u32 offsets[samples + 1]; a sample: u32 sizes of the variable columns, then bytes. */
tutti_status mds_sample(mds_set *set, int64_t index, mds_field *fields, tutti_error *err)
{
    mds_shard *s = mds_shard_of(set, index);
    const tutti_status status = ensure(set, s, err);
    if (status)
        return status;
    const int64_t at = index - s->first;
    const uint64_t table = 4 + 4 * ((uint64_t)s->samples + 1);
    if (s->size < table || u32(s->data) != (uint32_t)s->samples)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: its number of samples is not the index's %lld", s->raw_path,
                          (long long)s->samples);
    const uint64_t begin = u32(s->data + 4 + 4 * at), end = u32(s->data + 8 + 4 * at);
    if (begin < table || end < begin || end > s->size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %lld lies outside the file",
                          s->raw_path, (long long)at);
    uint64_t header = begin, data = begin;
    for (uint32_t k = 0; k < set->ncolumns; k++)
        data += set->columns[k].size < 0 ? 4 : 0;
    for (uint32_t k = 0; k < set->ncolumns && data <= end; k++) {
        uint64_t size = (uint64_t)set->columns[k].size;
        if (set->columns[k].size < 0) {
            size = u32(s->data + header);
            header += 4;
        }
        fields[k] = (mds_field){s->data + data, size};
        data += size;
    }
    if (data != end)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the columns of sample %lld do not fill it",
                          s->raw_path, (long long)at);
    return TUTTI_OK;
}
