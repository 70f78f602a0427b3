/* cache.c - least recently used shards leave; one thread fetches ahead. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mds_cache {
    mds_set *set;
    mds_cache_options options;
    uint64_t clock; /* atomic */
    pthread_mutex_t
        lock; /* of what follows; taken while a shard's lock is held, never the other way */
    pthread_cond_t wake;
    uint64_t used;     /* bytes of files that are here or on their way */
    int64_t last;      /* the shard in use */
    int64_t next, end; /* shards to fetch ahead: turns of the plan, where there is one */
    int64_t *plan;     /* shards in the order in which an epoch first uses them; NULL: theirs */
    int64_t *turn;     /* of each shard in it; -1: the epoch does not use it */
    int64_t nplan;
    int64_t
        around; /* without any order that tells more: from here on shards are looked through */
    int64_t looked; /* so many; -1: they are not */
    int64_t more;   /* of those that are missing, so many are fetched */
    int stop, runs;
    int all_fit; /* the disk has room for the whole set */
    pthread_t thread;
};

/* Where its files come from; NULL: they are here, and stay. */
static remote *shard_remote(const mds_cache *c, const mds_shard *s)
{
    return c->set->folders[s->folder].there;
}

/* The file of a part that is fetched. */
static const mds_file *part_file(const mds_part *p)
{
    return p->zip.path ? &p->zip : &p->raw;
}

static uint64_t shard_bytes(const mds_shard *s)
{
    uint64_t bytes = 0;
    for (int k = 0; k < MDS_PARTS && s->part[k].raw.path; k++)
        bytes += part_file(&s->part[k])->bytes;
    return bytes;
}

static int is_whole(const mds_file *f)
{
    struct stat st;
    return f->path && stat(f->path, &st) == 0 && (uint64_t)st.st_size == f->bytes;
}

static int shard_is_here(const mds_shard *s)
{
    for (int k = 0; k < MDS_PARTS && s->part[k].raw.path; k++)
        if (!is_whole(&s->part[k].raw) && !is_whole(&s->part[k].zip))
            return 0;
    return 1;
}

static void remove_files(const mds_shard *s)
{
    for (int k = 0; k < MDS_PARTS && s->part[k].raw.path; k++) {
        (void)unlink(s->part[k].raw.path);
        if (s->part[k].zip.path)
            (void)unlink(s->part[k].zip.path);
    }
}

/* ---- room ---- */

/* The least recently used shard of those that are kept; NULL: none. */
static mds_shard *oldest_shard(const mds_cache *c, const mds_shard *but, uint64_t after)
{
    mds_shard *found = NULL;
    uint64_t best = UINT64_MAX;
    for (uint64_t k = 0; k < c->set->nshards; k++) {
        mds_shard *s = &c->set->shards[k];
        const uint64_t used = __atomic_load_n(&s->used, __ATOMIC_RELAXED);
        if (s != but && __atomic_load_n(&s->kept, __ATOMIC_RELAXED) && used >= after &&
            used < best) {
            found = s;
            best = used;
        }
    }
    return found;
}

/* Removes one; 0: it is in use. */
static int evict_shard(mds_cache *c, mds_shard *s)
{
    int gone = 0;
    if (pthread_mutex_trylock(&s->lock) != 0)
        return 0;
    if (s->kept && !s->users) {
        mds_shard_unload(c->set, s);
        mds_cache_drop(c, s);
        gone = 1;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return gone;
}

/* Takes `bytes` of the disk for a shard. */
static void reserve_disk(mds_cache *c, const mds_shard *s, uint64_t bytes)
{
    uint64_t after = 0, used;
    (void)pthread_mutex_lock(&c->lock);
    used = c->used += bytes;
    (void)pthread_mutex_unlock(&c->lock);
    while (c->options.limit && used > c->options.limit) {
        mds_shard *victim = oldest_shard(c, s, after);
        if (!victim)
            return;
        after = __atomic_load_n(&victim->used, __ATOMIC_RELAXED);
        after += !evict_shard(c, victim); /* in use: the one after it */
        (void)pthread_mutex_lock(&c->lock);
        used = c->used;
        (void)pthread_mutex_unlock(&c->lock);
    }
}

static void release_disk(mds_cache *c, uint64_t bytes)
{
    (void)pthread_mutex_lock(&c->lock);
    c->used -= bytes;
    (void)pthread_mutex_unlock(&c->lock);
}

void mds_cache_drop(mds_cache *c, mds_shard *s)
{
    if (!shard_remote(c, s))
        return;
    remove_files(s);
    if (s->kept)
        release_disk(c, shard_bytes(s));
    __atomic_store_n(&s->kept, 0, __ATOMIC_RELAXED);
}

int mds_cache_lacks(const mds_cache *c, const mds_shard *s)
{
    return shard_remote(c, s) && !shard_is_here(s);
}

tutti_status mds_cache_need(mds_cache *c, mds_shard *s, tutti_error *err)
{
    remote *there = shard_remote(c, s);
    if (!there || (s->kept && shard_is_here(s)))
        return TUTTI_OK;
    if (s->kept) /* somebody else has removed files */
        mds_cache_drop(c, s);
    const size_t folder = strlen(c->set->folders[s->folder].path) + 1;
    tutti_status status = TUTTI_OK;
    reserve_disk(c, s, shard_bytes(s));
    for (int k = 0; status == TUTTI_OK && k < MDS_PARTS && s->part[k].raw.path; k++) {
        const mds_file *f = part_file(&s->part[k]);
        if (!is_whole(f) && !is_whole(&s->part[k].raw))
            status = mds_remote_fetch(there, f->path + folder, f->path, f, c->set->verify, err);
    }
    if (status)
        release_disk(c, shard_bytes(s));
    else
        __atomic_store_n(&s->kept, 1, __ATOMIC_RELAXED);
    return status;
}

/* ---- ahead ---- */

tutti_status mds_cache_plan(mds_cache *c, const int64_t *samples, int64_t count,
                            tutti_error *err)
{
    const int64_t shards = (int64_t)c->set->nshards;
    const mds_shard *before = NULL;
    int64_t n = 0;
    if (!c->runs)
        return TUTTI_OK;
    int64_t *plan = malloc(2 * (size_t)shards * sizeof *plan), *turn = plan + shards;
    if (!plan)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to fetch shards ahead");
    for (int64_t k = 0; k < shards; k++)
        turn[k] = -1;
    for (int64_t k = 0; k < count && n < shards; k++) {
        const mds_shard *s = mds_shard_of(c->set, samples[k]);
        const int64_t number = s - c->set->shards;
        if (s != before && turn[number] < 0) {
            turn[number] = n;
            plan[n++] = number;
        }
        before = s;
    }
    (void)pthread_mutex_lock(&c->lock);
    free(c->plan);
    c->plan = plan;
    c->turn = turn;
    c->nplan = n;
    c->next = c->end = 0;
    (void)pthread_mutex_unlock(&c->lock);
    return TUTTI_OK;
}

/* The shards whose turn comes after the latest one so far. */
static void go_on_by_plan(mds_cache *c, int64_t number)
{
    const int64_t after = c->turn[number] + 1, end = after + c->options.ahead;
    if (after == 0 || (c->end && end <= c->end))
        return;
    c->next = c->next > after ? c->next : after;
    c->end = end < c->nplan ? end : c->nplan;
    (void)pthread_cond_signal(&c->wake);
}

/* Shard by shard: those behind `number`. */
static void go_on_in_order(mds_cache *c, int64_t number)
{
    const int64_t last = (int64_t)c->set->nshards, end = number + 1 + c->options.ahead;
    c->next = c->next > number && c->next <= end ? c->next : number + 1;
    c->end = end < last ? end : last;
    (void)pthread_cond_signal(&c->wake);
}

/* From anywhere: all are needed soon, so more of the missing ones, where none has to leave for them. */
static void go_on_around(mds_cache *c, int64_t number)
{
    if (!c->all_fit)
        return;
    if (c->looked < 0) {
        c->around = number + 1;
        c->looked = 0;
    }
    c->more = c->options.ahead;
    (void)pthread_cond_signal(&c->wake);
}

void mds_cache_touch(mds_cache *c, mds_shard *s)
{
    const int64_t number = s - c->set->shards;
    __atomic_store_n(&s->used, __atomic_add_fetch(&c->clock, 1, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    if (!c->runs)
        return;
    (void)pthread_mutex_lock(&c->lock);
    const int64_t from = c->last;
    c->last = number;
    if (c->plan)
        go_on_by_plan(c, number);
    else if (number - from > 1 || from - number > 1)
        go_on_around(c, number);
    else if (number != from)
        go_on_in_order(c, number);
    (void)pthread_mutex_unlock(&c->lock);
}

/* The shard to fetch now; -1: none. */
static int64_t next_ahead(mds_cache *c)
{
    const int64_t n = (int64_t)c->set->nshards;
    if (c->next < c->end) {
        const int64_t turn = c->next++;
        return c->plan ? c->plan[turn] : turn;
    }
    while (c->more > 0 && c->looked >= 0 && c->looked < n) {
        const int64_t number = (c->around + c->looked++) % n;
        const mds_shard *s = &c->set->shards[number];
        if (!shard_remote(c, s) || __atomic_load_n(&s->kept, __ATOMIC_RELAXED))
            continue;
        c->more--;
        return number;
    }
    return -1;
}

/* A failure is told by whoever needs the shard. */
static void fetch_ahead(mds_cache *c, mds_shard *s)
{
    tutti_error ignored = TUTTI_ERROR_INIT;
    (void)pthread_mutex_lock(&s->lock);
    if (!s->kept && mds_cache_need(c, s, &ignored) == TUTTI_OK)
        __atomic_store_n(&s->used, __atomic_add_fetch(&c->clock, 1, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&s->lock);
}

static void *work_ahead(void *ctx)
{
    mds_cache *c = ctx;
    (void)pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        const int64_t number = next_ahead(c);
        if (number < 0) {
            (void)pthread_cond_wait(&c->wake, &c->lock);
            continue;
        }
        mds_shard *s = &c->set->shards[number];
        (void)pthread_mutex_unlock(&c->lock);
        fetch_ahead(c, s);
        (void)pthread_mutex_lock(&c->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the whole ---- */

/* What earlier runs have left here. */
static tutti_status count_files(mds_cache *c, tutti_error *err)
{
    uint64_t largest = 1, all = 0;
    for (uint64_t k = 0; k < c->set->nshards; k++) {
        mds_shard *s = &c->set->shards[k];
        const uint64_t bytes = shard_remote(c, s) ? shard_bytes(s) : 0;
        largest = bytes > largest ? bytes : largest;
        all += bytes;
        if (c->options.limit && bytes > c->options.limit)
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: has %llu bytes, and disk_mib allows no more than %llu",
                              mds_shard_path(s), (unsigned long long)bytes,
                              (unsigned long long)c->options.limit);
        s->kept = bytes && shard_is_here(s);
        c->used += s->kept ? bytes : 0;
    }
    c->all_fit = !c->options.limit || all <= c->options.limit;
    /* What is fetched ahead does not push out what is in use, nor the one before it. */
    const int64_t fit = (int64_t)(c->options.limit / largest) - 2;
    if (c->options.limit && c->options.ahead > fit)
        c->options.ahead = fit > 0 ? fit : 0;
    return TUTTI_OK;
}

tutti_status mds_cache_open(mds_set *set, const mds_cache_options *options, tutti_error *err)
{
    mds_cache *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    c->set = set;
    c->options = *options;
    c->last = c->looked = -1; /* the first shard is in order */
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->wake, NULL);
    tutti_status s = count_files(c, err);
    if (s == TUTTI_OK && c->options.ahead > 0) {
        if (pthread_create(&c->thread, NULL, work_ahead, c) == 0)
            c->runs = 1;
        else
            s = tutti_fail(err, TUTTI_E_NOMEM, "mds: no thread to fetch shards ahead");
    }
    if (s)
        mds_cache_close(c);
    else
        set->cache = c;
    return s;
}

void mds_cache_close(mds_cache *c)
{
    if (!c)
        return;
    for (uint32_t k = 0; k < c->set->nfolders; k++)
        if (c->set->folders[k].there)
            remote_stop(c->set->folders[k].there);
    if (c->runs) {
        (void)pthread_mutex_lock(&c->lock);
        c->stop = 1;
        (void)pthread_cond_signal(&c->wake);
        (void)pthread_mutex_unlock(&c->lock);
        (void)pthread_join(c->thread, NULL);
    }
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_cond_destroy(&c->wake);
    free(c->plan);
    free(c);
}
