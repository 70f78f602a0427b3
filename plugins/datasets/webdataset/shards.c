/* shards.c - the least recently used shards leave for those that are needed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shards.h"

#include "braces.h"
#include "unpack.h"

#include <stdlib.h>
#include <unistd.h>

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "webdataset: no memory for the shards");
}

/* ---- one file ---- */

/* Of all bytes; tells a file from one that was put in its place. */
static uint64_t shard_sum(const mapped_file *f)
{
    uint64_t sum = f->size, word;
    for (uint64_t at = 0; at < f->size; at += sizeof word) {
        const uint64_t left = f->size - at;
        word = 0;
        memcpy(&word, f->data + at, left < sizeof word ? left : sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

/* Maps its file, unpacked where that is compressed. */
static tutti_status map_shard(const wds_shards *x, shard *s, tutti_error *err)
{
    mapped_file raw;
    tutti_status status = mapped_file_open(&raw, s->path, err);
    if (status)
        return status;
    const uint64_t sum = s->address ? shard_sum(&raw) : 0, size = raw.size;
    if (s->bytes && (size != s->size || sum != s->sum)) {
        mapped_file_close(&raw);
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: is another file than when the data set was opened", s->address);
    }
    s->size = size;
    s->sum = sum;
    s->bytes = size;
    s->file = raw;
    if (!unpack_is_packed(&raw))
        return TUTTI_OK;
    s->file = (mapped_file){NULL, 0};
    status = unpack_file(&raw, s->path, x->unpack, &s->file, err);
    s->bytes += s->file.size;
    mapped_file_close(&raw);
    return status;
}

enum { MOST_FETCHES = 8 };

/* Fetches and maps a shard with an address; again where another process with the same folder has removed the file in
 * between.  Sets s->path, once. */
static tutti_status fetch_and_map(const wds_shards *x, wds_fetch *fetch, const char *address,
                                  shard *s, tutti_error *err)
{
    for (int fetches = 1;; fetches++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        char *path = NULL;
        tutti_status status = fetch_shard(fetch, address, &path, err);
        if (status)
            return status;
        if (s->path) /* which who reads a sentence may have */
            free(path);
        else
            s->path = path;
        if ((status = map_shard(x, s, &cause)) == TUTTI_OK)
            return status;
        if (fetches == MOST_FETCHES || access(s->path, F_OK) == 0)
            return tutti_fail(err, status, "%s", cause.text);
    }
}

/* ---- room ---- */

static void shards_hold(wds_shards *x, const shard *s, int more)
{
    (void)pthread_mutex_lock(&x->lock);
    x->held = more ? x->held + s->bytes : x->held - s->bytes;
    (void)pthread_mutex_unlock(&x->lock);
}

static int shards_are_too_many(wds_shards *x)
{
    (void)pthread_mutex_lock(&x->lock);
    const int too_many = x->held > x->limit;
    (void)pthread_mutex_unlock(&x->lock);
    return too_many;
}

/* Its file leaves the disk.  Its lock is held, or nobody else knows of it. */
static void drop_shard(wds_shards *x, shard *s)
{
    mapped_file_close(&s->file);
    (void)unlink(s->path);
    __atomic_store_n(&s->kept, 0, __ATOMIC_RELAXED);
    shards_hold(x, s, 0);
}

/* The least recently used shard, used at `after` or later; NULL: none. */
static shard *oldest_shard(const wds_shards *x, const shard *but, uint64_t after)
{
    shard *found = NULL;
    uint64_t best = UINT64_MAX;
    for (uint32_t k = 0; k < x->count; k++) {
        shard *s = &x->all[k];
        const uint64_t used = __atomic_load_n(&s->used, __ATOMIC_RELAXED);
        if (s != but && s->address && __atomic_load_n(&s->kept, __ATOMIC_RELAXED) &&
            used >= after && used < best) {
            found = s;
            best = used;
        }
    }
    return found;
}

/* Takes room for `s`; of the others those that nobody uses leave. */
static void make_room(wds_shards *x, const shard *s)
{
    uint64_t after = 0;
    shard *victim;
    shards_hold(x, s, 1);
    while (shards_are_too_many(x) && (victim = oldest_shard(x, s, after))) {
        after = __atomic_load_n(&victim->used, __ATOMIC_RELAXED) + 1;
        if (pthread_mutex_trylock(&victim->lock) != 0)
            continue;
        if (victim->kept && !victim->users)
            drop_shard(x, victim);
        (void)pthread_mutex_unlock(&victim->lock);
    }
}

/* ---- all ---- */

static const char *unpack_folder(const tutti_params *params)
{
    const char *given = tutti_param_str(params, "unpack_folder"), *usual = getenv("TMPDIR");
    return given ? given : usual && *usual ? usual : "/var/tmp";
}

tutti_status shards_open(wds_shards *x, const tutti_params *params, const tutti_log_v1 *log,
                         tutti_error *err)
{
    braces names;
    memset(x, 0, sizeof *x);
    (void)pthread_mutex_init(&x->lock, NULL);
    x->limit = (uint64_t)tutti_param_i64(params, "disk_mib") << 20;
    x->unpack = strdup(unpack_folder(params));
    tutti_status s = x->unpack ? fetch_source(&x->source, params, log, err) : no_memory(err);
    if (s)
        return s;
    s = braces_expand(&names, tutti_param_str(params, "path"), err);
    if (s == TUTTI_OK && !(x->all = calloc(names.count, sizeof *x->all)))
        s = no_memory(err);
    for (uint32_t k = 0; s == TUTTI_OK && k < names.count; k++) {
        x->all[k].path = names.texts[k];
        names.texts[k] = NULL;
        (void)pthread_mutex_init(&x->all[k].lock, NULL);
        x->count = k + 1;
    }
    braces_free(&names);
    return s;
}

void shards_close(wds_shards *x)
{
    for (uint32_t k = 0; k < x->count; k++) {
        mapped_file_close(&x->all[k].file);
        (void)pthread_mutex_destroy(&x->all[k].lock);
        free(x->all[k].path);
        free(x->all[k].address);
    }
    if (x->unpack)
        (void)pthread_mutex_destroy(&x->lock);
    fetch_source_free(&x->source);
    free(x->unpack);
    free(x->all);
    memset(x, 0, sizeof *x);
}

tutti_status shards_first(wds_shards *x, wds_fetch *fetch, uint32_t k, tutti_error *err)
{
    shard *s = &x->all[k];
    tutti_status status;
    if (fetch_is_address(s->path)) {
        char *address = s->path;
        s->path = NULL;
        if (x->limit)
            s->address = address;
        status = fetch_and_map(x, fetch, address, s, err);
        if (!x->limit)
            free(address);
    } else
        status = map_shard(x, s, err);
    if (status == TUTTI_OK && s->address) {
        s->kept = 1;
        shards_hold(x, s, 1);
    }
    return status;
}

tutti_status shards_settle(wds_shards *x, uint32_t k, tutti_error *err)
{
    shard *s = &x->all[k];
    if (!s->address)
        return TUTTI_OK;
    if (s->bytes > x->limit)
        return tutti_fail(
            err, TUTTI_E_ARG, "%s: takes %llu bytes, and disk_mib allows no more than %llu",
            s->address, (unsigned long long)s->bytes, (unsigned long long)x->limit);
    if (shards_are_too_many(x))
        drop_shard(x, s);
    return TUTTI_OK;
}

tutti_status shards_use(wds_shards *x, uint32_t k, tutti_error *err)
{
    shard *s = &x->all[k];
    tutti_status status = TUTTI_OK;
    if (!s->address)
        return TUTTI_OK;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->kept) {
        make_room(x, s);
        wds_fetch fetch = {.source = &x->source};
        status = fetch_and_map(x, &fetch, s->address, s, err);
        fetch_end(&fetch);
        if (status)
            shards_hold(x, s, 0);
        else
            __atomic_store_n(&s->kept, 1, __ATOMIC_RELAXED);
    }
    if (status == TUTTI_OK) {
        s->users++;
        __atomic_store_n(&s->used, __atomic_add_fetch(&x->clock, 1, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

void shards_done(wds_shards *x, uint32_t k)
{
    shard *s = &x->all[k];
    if (!s->address)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->users--;
    (void)pthread_mutex_unlock(&s->lock);
}
