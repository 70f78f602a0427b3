/* shard.c - shards opened for who reads a sample, closed when there are too many; samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shard.h"

#include "cache.h"
#include "fields.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOADS = 8 };

/* A file of a remote set that was here already and is not what it should be is fetched once more; so is one that another
 * process with the same folder has removed between fetching and opening. */
static tutti_status shard_load(mds_set *set, mds_shard *s, tutti_error *err)
{
    if (!set->cache)
        return mds_parts_load(set, s, err);
    const int was_here = s->kept;
    for (int loads = 1;; loads++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        tutti_status status = mds_cache_need(set->cache, s, err);
        if (status || (status = mds_parts_load(set, s, &cause)) == TUTTI_OK)
            return status;
        const int again =
            mds_cache_lacks(set->cache, s) ? loads < MOST_LOADS : was_here && loads == 1;
        mds_cache_drop(set->cache, s);
        if (!again)
            return tutti_fail(err, status, "%s", cause.text);
    }
}

/* Closes one shard, and returns 1, that nobody uses and that was not used since the hand went past it last: near enough to the
 * least recently used one.  Others may be in use, all of them even; then there are more for a while. */
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
        mds_shard_unload(set, s);
        for (int p = 0; p < MDS_PARTS; p++) {
            free_file(&s->part[p].raw);
            free_file(&s->part[p].zip);
        }
        free(s->zip_kind);
        if (set->sealed)
            (void)pthread_mutex_destroy(&s->lock);
    }
    for (uint32_t k = 0; k < set->nfolders; k++) {
        remote_close(set->folders[k].there);
        free(set->folders[k].path);
    }
    for (uint32_t k = 0; k < set->ncolumns; k++) {
        free(set->columns[k].name);
        free(set->columns[k].encoding);
    }
    if (set->sealed)
        (void)pthread_mutex_destroy(&set->closer);
    free(set->separator);
    free(set->newline);
    free(set->shards);
    free(set->folders);
    memset(set, 0, sizeof *set);
}
