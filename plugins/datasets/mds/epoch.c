/* epoch.c - what an epoch has of the set, and in which order, for the host: tutti.sample_order/1, tutti.sample_groups/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"
#include "cache.h"
#include "dataset.h"

#include <stdlib.h>
#include <string.h>

static int64_t mds_epoch_places(void *self)
{
    const mds_order *o = &((const mds *)self)->epochs.order;
    return o->batching ? mds_batches_places(o) : mds_order_places(o);
}

static tutti_status draw_order(const mds_epochs *e, const tutti_epoch *epoch,
                               int64_t *ret_index, tutti_error *err)
{
    mds_stream streams[MDS_MAX_STREAMS];
    mds_order order = e->order;
    order.mixed = (int32_t)epoch->shuffle;
    if (order.batching && epoch->batch_size != order.batch)
        return tutti_fail(err, TUTTI_E_ARG, "mds: batch_size is %lld, and the run's is %lld",
                          (long long)order.batch, (long long)epoch->batch_size);
    if (order.batching)
        return mds_batches_samples(&order, epoch->epoch, ret_index, err);
    if (e->run_seed) {
        memcpy(streams, order.streams, (size_t)order.nstreams * sizeof *streams);
        order.shuffle.seed = epoch->seed;
        order.streams = streams;
        const tutti_status s =
            mds_weights_apply(e->weights, streams, order.nstreams, e->size, epoch->seed, err);
        if (s)
            return s;
    }
    return mds_order_samples(&order, epoch->epoch, ret_index, err);
}

static tutti_status mds_epoch_order(void *self, const tutti_epoch *epoch, int64_t *index,
                                    uint64_t room, tutti_error *err)
{
    const mds *m = self;
    const int64_t places = mds_epoch_places(self);
    if (room < (uint64_t)places)
        return tutti_fail(err, TUTTI_E_RANGE, "mds: room for %llu of %lld places",
                          (unsigned long long)room, (long long)places);
    const tutti_status s = draw_order(&m->epochs, epoch, index, err);
    return s || !m->set.cache ? s : mds_cache_plan(m->set.cache, index, places, err);
}

const tutti_sample_order_v1 *mds_order_table(const mds *m)
{
    static const tutti_sample_order_v1 table = {
        .struct_size = sizeof table, .places = mds_epoch_places, .order = mds_epoch_order};
    return m->epochs.order.shards ? &table : NULL;
}

/* ---- shards, for lanes of the host ---- */

static int64_t mds_shards_count(void *self)
{
    return (int64_t)((const mds *)self)->set.nshards;
}

static int64_t mds_shards_first(void *self, int64_t shard)
{
    return ((const mds *)self)->set.shards[shard].first;
}

/* Where there is no memory for the plan nothing more is fetched ahead. */
static void mds_shards_expect(void *self, const int64_t *samples, uint64_t count)
{
    const mds *m = self;
    tutti_error ignored = TUTTI_ERROR_INIT;
    if (m->set.cache)
        (void)!mds_cache_plan(m->set.cache, samples, (int64_t)count, &ignored);
}

const tutti_sample_groups_v1 *mds_groups_table(void)
{
    static const tutti_sample_groups_v1 table = {.struct_size = sizeof table,
                                                 .count = mds_shards_count,
                                                 .first = mds_shards_first,
                                                 .expect = mds_shards_expect};
    return &table;
}

/* ---- settings ---- */

/* A setting that the run leaves out is `otherwise`. */
static int64_t given_or(const tutti_params *params, const char *name, int64_t otherwise)
{
    return tutti_param_is_set(params, name) ? tutti_param_i64(params, name) : otherwise;
}

static mds_shuffle read_shuffle(const tutti_params *params)
{
    const int64_t given = tutti_param_i64(params, "shuffle_algo"); /* 0: auto */
    const int32_t algo = given ? (int32_t)given - 1 : MDS_PY1E;
    const int many = algo == MDS_PY1S || algo == MDS_PY2S;
    const int64_t nodes = given_or(params, "num_canonical_nodes", many ? 64 : 1);
    const int64_t least = 1 << 18, even = 4000000 / nodes;
    return (mds_shuffle){
        .algo = algo,
        .nodes = nodes,
        .seed = (uint64_t)tutti_param_i64(params, "shuffle_seed"),
        .block = given_or(params, "shuffle_block_size", even > least ? even : least)};
}

/* One value of a list of weights, for stream `k` of `count`; 0 where the run does not say it. */
static tutti_status read_weight(const tutti_params *params, const char *name, int64_t k,
                                int64_t count, int32_t kind, mds_weight *w, tutti_error *err)
{
    const tutti_param *list = tutti_param_find(params, name);
    if (!list->count)
        return TUTTI_OK;
    if (list->count != (uint64_t)count)
        return tutti_fail(err, TUTTI_E_ARG, "mds: %s has %llu values, want one a stream: %lld",
                          name, (unsigned long long)list->count, (long long)count);
    const tutti_param *value = list->items[k];
    if (value->f == -1)
        return TUTTI_OK;
    if (value->f < 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: %s is %g for stream %lld, want -1 or at least 0", name,
                          value->f, (long long)k + 1);
    if (w->kind != MDS_ALL)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mds: stream %lld has more than one of proportion, repeat and choose",
                          (long long)k + 1);
    *w = (mds_weight){kind, value->f, value->i};
    return TUTTI_OK;
}

/* *ret_any: whether an epoch may have other samples than the set. */
static tutti_status read_weights(const tutti_params *params, int64_t count,
                                 mds_weight *ret_weights, int *ret_any, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; k < count && !s; k++) {
        mds_weight *w = &ret_weights[k];
        *w = (mds_weight){MDS_ALL, 0, 0};
        if ((s = read_weight(params, "proportion", k, count, MDS_PROPORTION, w, err)) ||
            (s = read_weight(params, "repeat", k, count, MDS_REPEAT, w, err)))
            return s;
        s = read_weight(params, "choose", k, count, MDS_CHOOSE, w, err);
        *ret_any = *ret_any || w->kind != MDS_ALL;
    }
    return s;
}

static tutti_status refuse_without_order(const tutti_params *params, tutti_error *err)
{
    static const char *const names[] = {"shuffle_seed", "shuffle_block_size",
                                        "num_canonical_nodes"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (tutti_param_is_set(params, names[k]))
            return tutti_fail(err, TUTTI_E_ARG,
                              "mds: %s is of Streaming's shuffles; set shuffle_algo to one",
                              names[k]);
    return TUTTI_OK;
}

/* How many samples an epoch has follows from the size of its batches, and must not depend on the run's seed. */
static tutti_status read_batching(mds_epochs *e, const tutti_params *params, tutti_error *err)
{
    mds_order *o = &e->order;
    o->batching = (int32_t)tutti_param_i64(params, "batching_method");
    o->batch = tutti_param_i64(params, "batch_size");
    o->devices = tutti_param_i64(params, "batch_devices");
    o->mixed = 1; /* what either needs */
    if (!o->batching)
        return TUTTI_OK;
    if (!o->batch || e->run_seed)
        return tutti_fail(err, TUTTI_E_ARG, "mds: batching_method %s wants %s",
                          tutti_param_str(params, "batching_method"),
                          o->batch ? "shuffle_seed" : "batch_size, that of the run");
    return mds_batches_check(o, err);
}

static tutti_status make_order(mds *m, const tutti_params *params, tutti_error *err)
{
    mds_epochs *e = &m->epochs;
    const uint64_t n = m->set.nshards;
    int64_t *shards = malloc(n * sizeof *shards);
    mds_stream *streams = malloc(m->set.nfolders * sizeof *streams);
    e->order = (mds_order){.shards = shards,
                           .streams = streams,
                           .nstreams = m->set.nfolders,
                           .shuffle = read_shuffle(params),
                           .granularity = tutti_param_i64(params, "sampling_granularity"),
                           .fixed = (int32_t)tutti_param_i64(params, "sampling_method")};
    e->run_seed = !tutti_param_is_set(params, "shuffle_seed");
    if (!shards || !streams)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for %llu shards",
                          (unsigned long long)n);
    for (uint64_t k = 0; k < n; k++)
        shards[k] = m->set.shards[k].samples;
    for (uint32_t k = 0; k < m->set.nfolders; k++)
        streams[k] = (mds_stream){m->set.folders[k].shards, m->set.folders[k].samples, 0, 0};
    tutti_status s = mds_weights_apply(e->weights, streams, m->set.nfolders, e->size,
                                       e->order.shuffle.seed, err);
    if (!s && m->set.cache) /* until an epoch's order is known nothing is fetched ahead */
        s = mds_cache_plan(m->set.cache, NULL, 0, err);
    return s ? s : read_batching(e, params, err);
}

tutti_status mds_open_order(mds *m, const tutti_params *params, tutti_error *err)
{
    mds_epochs *e = &m->epochs;
    int any = m->set.nfolders > 1;
    e->size = tutti_param_i64(params, "epoch_size");
    e->weights = malloc(m->set.nfolders * sizeof *e->weights);
    if (!e->weights)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for %u streams", m->set.nfolders);
    const tutti_status s = read_weights(params, m->set.nfolders, e->weights, &any, err);
    if (s)
        return s;
    return any || e->size || tutti_param_i64(params, "shuffle_algo") ||
                   tutti_param_i64(params, "batching_method")
               ? make_order(m, params, err)
               : refuse_without_order(params, err);
}

void mds_close_order(mds *m)
{
    free(m->epochs.weights);
    free((void *)(uintptr_t)m->epochs.order.shards);
    free((void *)(uintptr_t)m->epochs.order.streams);
}
