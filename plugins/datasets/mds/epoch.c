/* epoch.c - the order of an epoch for the host: tutti.sample_order/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset.h"

#include <stdlib.h>
#include <string.h>

static int64_t epoch_places(void *self)
{
    return mds_order_places(&((const mds *)self)->order);
}

static tutti_status epoch_order(void *self, const tutti_epoch *epoch, int64_t *ret_index,
                                tutti_error *err)
{
    const mds *m = self;
    mds_order order = m->order;
    order.mixed = (int32_t)epoch->shuffle;
    if (m->run_seed)
        order.shuffle.seed = epoch->seed;
    return mds_order_samples(&order, epoch->epoch, ret_index, err);
}

const tutti_sample_order_v1 *mds_order_table(const mds *m)
{
    static const tutti_sample_order_v1 table = {
        .struct_size = sizeof table, .places = epoch_places, .order = epoch_order};
    return m->order.shards ? &table : NULL;
}

/* A setting that the run leaves out is `otherwise`. */
static int64_t given_or(const tutti_params *params, const char *name, int64_t otherwise)
{
    return tutti_param_is_set(params, name) ? tutti_param_i64(params, name) : otherwise;
}

static mds_shuffle read_shuffle(const tutti_params *params, int32_t algo)
{
    const int many = algo == MDS_PY1S || algo == MDS_PY2S;
    const int64_t nodes = given_or(params, "num_canonical_nodes", many ? 64 : 1);
    const int64_t least = 1 << 18, even = 4000000 / nodes;
    return (mds_shuffle){
        .algo = algo,
        .nodes = nodes,
        .seed = (uint64_t)tutti_param_i64(params, "shuffle_seed"),
        .block = given_or(params, "shuffle_block_size", even > least ? even : least)};
}

static tutti_status refuse_without_shuffle(const tutti_params *params, tutti_error *err)
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

tutti_status mds_open_order(mds *m, const tutti_params *params, tutti_error *err)
{
    const int64_t algo = tutti_param_i64(params, "shuffle_algo");
    if (algo == 0)
        return refuse_without_shuffle(params, err);
    const uint64_t n = m->set.nshards;
    int64_t *shards = malloc(n * sizeof *shards);
    mds_stream *streams = malloc(sizeof *streams);
    m->order = (mds_order){.shards = shards,
                           .streams = streams,
                           .nstreams = 1,
                           .shuffle = read_shuffle(params, (int32_t)algo - 1),
                           .granularity = 1};
    m->run_seed = !tutti_param_is_set(params, "shuffle_seed");
    if (!shards || !streams)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for %llu shards",
                          (unsigned long long)n);
    for (uint64_t k = 0; k < n; k++)
        shards[k] = m->set.shards[k].samples;
    *streams = (mds_stream){(int64_t)n, m->set.samples, m->set.samples};
    return TUTTI_OK;
}

void mds_close_order(mds *m)
{
    free((void *)(uintptr_t)m->order.shards);
    free((void *)(uintptr_t)m->order.streams);
}
