/* shard.c - reading indexes and shards: hashes, zstd, offsets. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* The digest as Python's hashlib and xxhash write it; 0: a hash that is not known here. */
static int shard_digest(const char *kind, const void *data, uint64_t size,
                        char ret[2 * EVP_MAX_MD_SIZE + 1])
{
    if (strcmp(kind, "xxh32") == 0)
        return snprintf(ret, 9, "%08x", XXH32(data, size, 0));
    if (strcmp(kind, "xxh64") == 0)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH64(data, size, 0));
    if (strcmp(kind, "xxh3_64") == 0)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH3_64bits(data, size));
    if (strcmp(kind, "xxh128") == 0 || strcmp(kind, "xxh3_128") == 0) {
        const XXH128_hash_t h = XXH3_128bits(data, size);
        return snprintf(ret, 33, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
    }
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    char name[32]; /* hashlib's sha3_256 is OpenSSL's sha3-256 */
    (void)snprintf(name, sizeof name, "%s",
                   strcmp(kind, "blake2s") == 0   ? "blake2s256"
                   : strcmp(kind, "blake2b") == 0 ? "blake2b512"
                                                  : kind);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    const EVP_MD *md = EVP_get_digestbyname(name);
    if (!md || EVP_Digest(data, size, bytes, &n, md, NULL) != 1)
        return 0;
    for (unsigned k = 0; k < n; k++)
        (void)snprintf(ret + 2 * k, 3, "%02x", bytes[k]);
    return 1;
}

/* {"basename", "bytes", "hashes"} of raw_data or zip_data.  The first hash that is known here is
 * kept; there may be none at all, but not only unknown ones. */
static tutti_status read_file_info(mds_set *set, const json_t *file, mds_file *ret,
                                   tutti_error *err)
{
    const char *name = json_string_value(json_object_get(file, "basename")), *kind;
    json_t *hashes = json_object_get(file, "hashes"), *value;
    char text[2 * EVP_MAX_MD_SIZE + 1];
    const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
    if (!name || !*name || strstr(name, "..") || bytes < 1 || bytes > INT64_MAX / 2)
        return bad_index(set, "a shard's file lacks a sound basename or bytes", err);
    ret->path = shard_join(set->folder, name);
    ret->bytes = (uint64_t)bytes;
    int memory = ret->path != NULL;
    json_object_foreach(hashes, kind, value)
    {
        if (ret->hash || !json_is_string(value) || !shard_digest(kind, "", 0, text))
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
        if (!name || !encoding || strlen(name) > 31 ||
            (json_is_integer(size) && json_integer_value(size) < 0))
            return bad_index(set, "a column has no sound name, encoding or size", err);
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
    const json_int_t samples = json_integer_value(json_object_get(json, "samples"));
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *compression = json_string_value(json_object_get(json, "compression"));
    if (!format || strcmp(format, "mds") != 0 ||
        json_integer_value(json_object_get(json, "version")) != 2)
        return bad_index(set, "a shard is not of format mds, version 2", err);
    (void)pthread_mutex_init(&s->lock, NULL);
    set->nshards++;
    if (samples < 0 || samples > UINT32_MAX)
        return bad_index(set, "a shard's number of samples is not from 0 to 4294967295", err);
    s->samples = samples;
    s->first = set->samples;
    set->samples += s->samples;
    tutti_status status = read_columns(set, json, first, err);
    if (status)
        return status;
    if ((status = read_file_info(set, json_object_get(json, "raw_data"), &s->raw, err)) ||
        !json_is_object(zip))
        return status;
    s->zip_kind = strdup(compression ? compression : "");
    if (!s->zip_kind)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    return read_file_info(set, zip, &s->zip, err);
}

tutti_status mds_open(mds_set *set, const char *folder, int32_t verify, tutti_error *err)
{
    json_error_t why;
    memset(set, 0, sizeof *set);
    set->verify = verify;
    (void)pthread_mutex_init(&set->closer, NULL);
    set->folder = strdup(folder);
    char *path = shard_join(folder, "index.json");
    if (!set->folder || !path) {
        free(path);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    }
    struct stat st;
    const int missing = stat(path, &st) != 0;
    if (missing || !S_ISREG(st.st_mode)) { /* reading a pipe would wait for its other end */
        const tutti_status s =
            missing ? tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno))
                    : tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path);
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

int32_t mds_find(const mds_set *set, const char *name)
{
    for (uint32_t k = 0; k < set->ncolumns; k++)
        if (strcmp(set->columns[k].name, name) == 0)
            return (int32_t)k;
    return -1;
}

/* ---- shards ---- */

static tutti_status shard_verify(const mds_file *f, const void *data, tutti_error *err)
{
    char have[2 * EVP_MAX_MD_SIZE + 1];
    if (!f->hash ||
        (shard_digest(f->hash_kind, data, f->bytes, have) && !strcasecmp(have, f->hash)))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is %s, the index says %s", f->path,
                      f->hash_kind, have, f->hash);
}

static tutti_status map_file(const char *path, uint64_t want, const unsigned char **ret_data,
                             tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    tutti_status s = TUTTI_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path);
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

static tutti_status shard_inflate(mds_shard *s, const unsigned char *zip, tutti_error *err)
{
    if (strncmp(s->zip_kind, "zstd", 4) != 0)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: compressed by %s, want zstd",
                          s->zip.path, s->zip_kind);
    unsigned char *raw = malloc(s->raw.bytes);
    if (!raw)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", s->zip.path,
                          (unsigned long long)s->raw.bytes);
    const size_t n = ZSTD_decompress(raw, s->raw.bytes, zip, s->zip.bytes);
    if (ZSTD_isError(n) || n != s->raw.bytes) {
        free(raw);
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: cannot be inflated: %s", s->zip.path,
                          ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong size");
    }
    s->data = raw;
    s->size = s->raw.bytes;
    return TUTTI_OK;
}

/* An uncompressed copy is used when it is there, as Streaming does. */
static tutti_status shard_load(mds_set *set, mds_shard *s, tutti_error *err)
{
    const int zipped = s->zip.path && access(s->raw.path, F_OK) != 0;
    const mds_file *f = zipped ? &s->zip : &s->raw;
    const unsigned char *data = NULL;
    tutti_status status = map_file(f->path, f->bytes, &data, err);
    if (status == TUTTI_OK && set->verify && !s->verified)
        status = shard_verify(f, data, err);
    s->verified = status == TUTTI_OK;
    if (status == TUTTI_OK && !zipped) {
        s->data = data;
        s->size = f->bytes;
        s->mapped = 1;
        return TUTTI_OK;
    }
    if (status == TUTTI_OK)
        status = shard_inflate(s, data, err);
    if (data)
        (void)munmap((void *)(uintptr_t)data, (size_t)f->bytes);
    return status;
}

static void shard_unload(mds_shard *s)
{
    if (s->mapped)
        (void)munmap((void *)(uintptr_t)s->data, (size_t)s->size);
    else
        free((void *)(uintptr_t)s->data);
    s->data = NULL;
    s->mapped = 0;
}

/* Closes one shard that nobody uses and that was not used since the hand went past it last: near enough to the
 * one used longest ago.  Others may be in use, all of them even; then there are more for a while. */
static void close_one(mds_set *set)
{
    (void)pthread_mutex_lock(&set->closer);
    for (uint64_t tries = 0, closed = 0; tries < 2 * set->nshards && !closed; tries++) {
        mds_shard *s = &set->shards[set->hand];
        set->hand = (set->hand + 1) % set->nshards;
        if (pthread_mutex_trylock(&s->lock) != 0)
            continue;
        if (s->data && !s->users && !s->recent) {
            shard_unload(s);
            closed = 1;
            (void)__atomic_fetch_sub(&set->nopen, 1, __ATOMIC_RELAXED);
        }
        s->recent = 0;
        (void)pthread_mutex_unlock(&s->lock);
    }
    (void)pthread_mutex_unlock(&set->closer);
}

/* Opens the shard for one more user. */
static tutti_status shard_enter(mds_set *set, mds_shard *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    uint64_t open = 0;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->data && (status = shard_load(set, s, err)) == TUTTI_OK)
        open = __atomic_add_fetch(&set->nopen, 1, __ATOMIC_RELAXED);
    s->users += status == TUTTI_OK;
    s->recent = 1;
    (void)pthread_mutex_unlock(&s->lock);
    if (open > MDS_MAX_OPEN)
        close_one(set);
    return status;
}

static void shard_leave(mds_shard *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->users--;
    (void)pthread_mutex_unlock(&s->lock);
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

static uint32_t shard_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* u32 samples, u32 offsets[samples + 1]; a sample: u32 sizes of the variable columns, then bytes. */
static tutti_status find_fields(const mds_set *set, const mds_shard *s, int64_t at,
                                mds_field *fields, tutti_error *err)
{
    const uint64_t table = 4 + 4 * ((uint64_t)s->samples + 1);
    if (s->size < table || shard_u32(s->data) != (uint32_t)s->samples)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: its number of samples is not the index's %lld", s->raw.path,
                          (long long)s->samples);
    const uint64_t begin = shard_u32(s->data + 4 + 4 * at),
                   end = shard_u32(s->data + 8 + 4 * at);
    if (begin < table || end < begin || end > s->size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: sample %lld lies outside the file",
                          s->raw.path, (long long)at);
    uint64_t header = begin, data = begin; /* both stay below 2^37 */
    for (uint32_t k = 0; k < set->ncolumns; k++)
        data += set->columns[k].size < 0 ? 4 : 0;
    for (uint32_t k = 0; k < set->ncolumns && data <= end; k++) {
        uint64_t size = (uint64_t)set->columns[k].size;
        if (set->columns[k].size < 0) {
            size = shard_u32(s->data + header);
            header += 4;
        }
        fields[k] = (mds_field){s->data + data, size};
        data += size;
    }
    if (data != end)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the columns of sample %lld do not fill it",
                          s->raw.path, (long long)at);
    return TUTTI_OK;
}

tutti_status mds_sample(mds_set *set, int64_t index, mds_field *fields, tutti_error *err)
{
    mds_shard *s = mds_shard_of(set, index);
    tutti_status status = shard_enter(set, s, err);
    if (status)
        return status;
    status = find_fields(set, s, index - s->first, fields, err);
    if (status)
        shard_leave(s);
    return status;
}

void mds_done(mds_set *set, int64_t index)
{
    shard_leave(mds_shard_of(set, index));
}

/* ---- the end ---- */

static void free_file(mds_file *f)
{
    free(f->path);
    free(f->hash_kind);
    free(f->hash);
}

void mds_close(mds_set *set)
{
    for (uint64_t k = 0; k < set->nshards; k++) {
        mds_shard *s = &set->shards[k];
        shard_unload(s);
        free_file(&s->raw);
        free_file(&s->zip);
        free(s->zip_kind);
        (void)pthread_mutex_destroy(&s->lock);
    }
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        free(set->columns[k].name);
        free(set->columns[k].encoding);
    }
    (void)pthread_mutex_destroy(&set->closer);
    free(set->shards);
    free(set->folder);
    memset(set, 0, sizeof *set);
}
