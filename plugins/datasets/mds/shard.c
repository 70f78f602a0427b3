/* shard.c - shards in memory: mapped or inflated, verified, closed again; their samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include "cache.h"
#include "digest.h"
#include "fields.h"
#include "inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- shards ---- */

static tutti_status shard_verify(const mds_file *f, const void *data, tutti_error *err)
{
    char have[MDS_DIGEST_SIZE];
    if (!f->hash ||
        (mds_digest(f->hash_kind, data, f->bytes, have) && !strcasecmp(have, f->hash)))
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

static tutti_status part_inflate(mds_set *set, const mds_shard *s, mds_part *p,
                                 const unsigned char *zip, tutti_error *err)
{
    char why[INFLATE_WHY_SIZE];
    unsigned char *raw = malloc(p->raw.bytes);
    if (!raw)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", p->zip.path,
                          (unsigned long long)p->raw.bytes);
    const tutti_status status =
        inflate_bytes(s->zip_kind, zip, p->zip.bytes, raw, p->raw.bytes, why);
    if (status) {
        free(raw);
        return tutti_fail(err, status, "%s: %s", p->zip.path, why);
    }
    p->data = raw;
    p->size = p->raw.bytes;
    (void)__atomic_fetch_add(&set->inflated, p->size, __ATOMIC_RELAXED);
    return TUTTI_OK;
}

/* An uncompressed copy is used when it is there, as Streaming does. */
static tutti_status part_load(mds_set *set, const mds_shard *s, mds_part *p, tutti_error *err)
{
    const int zipped = p->zip.path && access(p->raw.path, F_OK) != 0;
    const mds_file *f = zipped ? &p->zip : &p->raw;
    const unsigned char *data = NULL;
    tutti_status status = map_file(f->path, f->bytes, &data, err);
    if (status == TUTTI_OK && set->verify && !p->verified)
        status = shard_verify(f, data, err);
    p->verified = status == TUTTI_OK;
    if (status == TUTTI_OK && !zipped) {
        p->data = data;
        p->size = f->bytes;
        p->mapped = 1;
        return TUTTI_OK;
    }
    if (status == TUTTI_OK)
        status = part_inflate(set, s, p, data, err);
    if (data)
        (void)munmap((void *)(uintptr_t)data, (size_t)f->bytes);
    return status;
}

static void shard_unload(mds_set *set, mds_shard *s)
{
    for (int k = 0; k < MDS_PARTS; k++) {
        mds_part *p = &s->part[k];
        if (p->mapped)
            (void)munmap((void *)(uintptr_t)p->data, (size_t)p->size);
        else if (p->data) {
            free((void *)(uintptr_t)p->data);
            (void)__atomic_fetch_sub(&set->inflated, p->size, __ATOMIC_RELAXED);
        }
        p->data = NULL;
        p->mapped = 0;
    }
}

static tutti_status load_parts(mds_set *set, mds_shard *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; status == TUTTI_OK && k < MDS_PARTS && s->part[k].raw.path; k++)
        status = part_load(set, s, &s->part[k], err);
    if (status)
        shard_unload(set, s);
    return status;
}

/* A file of a remote set that was here already and is not what it should be is fetched once more. */
static tutti_status shard_load(mds_set *set, mds_shard *s, tutti_error *err)
{
    if (!set->cache)
        return load_parts(set, s, err);
    const int was_here = s->kept;
    tutti_error cause = TUTTI_ERROR_INIT;
    tutti_status status = mds_cache_need(set->cache, s, err);
    if (status || (status = load_parts(set, s, &cause)) == TUTTI_OK)
        return status;
    mds_cache_drop(set->cache, s);
    if (!was_here)
        return tutti_fail(err, status, "%s", cause.text);
    status = mds_cache_need(set->cache, s, err);
    return status ? status : load_parts(set, s, err);
}

void mds_shard_unload(mds_set *set, mds_shard *s)
{
    if (s->part[MDS_DATA].data)
        (void)__atomic_fetch_sub(&set->nopen, 1, __ATOMIC_RELAXED);
    shard_unload(set, s);
}

/* Closes one shard, and returns 1, that nobody uses and that was not used since the hand went past it last: near enough to the
 * one used longest ago.  Others may be in use, all of them even; then there are more for a while. */
static int close_one(mds_set *set)
{
    int closed = 0;
    (void)pthread_mutex_lock(&set->closer);
    for (uint64_t tries = 0; tries < 2 * set->nshards && !closed; tries++) {
        mds_shard *s = &set->shards[set->hand];
        set->hand = (set->hand + 1) % set->nshards;
        if (pthread_mutex_trylock(&s->lock) != 0)
            continue;
        if (s->part[MDS_DATA].data && !s->users && !s->recent) {
            mds_shard_unload(set, s);
            closed = 1;
        }
        s->recent = 0;
        (void)pthread_mutex_unlock(&s->lock);
    }
    (void)pthread_mutex_unlock(&set->closer);
    return closed;
}

static int takes_too_much(const mds_set *set)
{
    return set->most_inflated &&
           __atomic_load_n(&set->inflated, __ATOMIC_RELAXED) > set->most_inflated;
}

/* Opens the shard for one more user. */
static tutti_status shard_enter(mds_set *set, mds_shard *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    uint64_t open = 0;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->part[MDS_DATA].data && (status = shard_load(set, s, err)) == TUTTI_OK)
        open = __atomic_add_fetch(&set->nopen, 1, __ATOMIC_RELAXED);
    s->users += status == TUTTI_OK;
    s->recent = 1;
    (void)pthread_mutex_unlock(&s->lock);
    if (open > MDS_MAX_OPEN)
        (void)close_one(set);
    while (open && takes_too_much(set) && close_one(set))
        ;
    if (set->cache)
        mds_cache_touch(set->cache, s);
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

const char *mds_shard_path(const mds_shard *s)
{
    return s->part[MDS_DATA].raw.path;
}

tutti_status mds_sample(mds_set *set, int64_t index, mds_row *ret_row, tutti_error *err)
{
    mds_shard *s = mds_shard_of(set, index);
    tutti_status status = shard_enter(set, s, err);
    if (status)
        return status;
    status = mds_fields(set, s, index - s->first, ret_row, err);
    if (status)
        shard_leave(s);
    return status;
}

void mds_done(mds_set *set, int64_t index, mds_row *row)
{
    free(row->own);
    row->own = NULL;
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
    mds_cache_close(set->cache);
    for (uint64_t k = 0; k < set->nshards; k++) {
        mds_shard *s = &set->shards[k];
        shard_unload(set, s);
        for (int p = 0; p < MDS_PARTS; p++) {
            free_file(&s->part[p].raw);
            free_file(&s->part[p].zip);
        }
        free(s->zip_kind);
        (void)pthread_mutex_destroy(&s->lock);
    }
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        free(set->columns[k].name);
        free(set->columns[k].encoding);
    }
    (void)pthread_mutex_destroy(&set->closer);
    free(set->separator);
    free(set->newline);
    free(set->shards);
    free(set->folder);
    memset(set, 0, sizeof *set);
}
