/* batches.c - each stream's own order, cut into parts of batches, which are put together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batches.h"

#include "numpy_rng.h"
#include "weights.h"

#include <stdlib.h>
#include <string.h>

/* One stream on its way into the batches. */
typedef struct portion {
    int64_t size;     /* samples of a part */
    int64_t parts;    /* whole ones */
    int64_t *samples; /* of the stream, in its order */
} portion;

/* ---- counting ---- */

/* The part of the order that is of stream `k` alone; its shards begin at number `at`. */
static mds_order order_of_stream(const mds_order *o, int64_t k, int64_t at)
{
    mds_order one = *o;
    one.batching = MDS_BATCH_RANDOM;
    one.shards = o->shards + at;
    one.streams = &o->streams[k];
    one.nstreams = 1;
    one.shuffle.block = (int64_t)((double)o->shuffle.block * o->streams[k].share);
    return one;
}

static int64_t devices_of(const mds_order *o)
{
    return o->batching == MDS_BATCH_DEVICE ? o->devices : 1;
}

/* What the nodes have of a stream, each of as many samples, a multiple of the devices. */
static int64_t node_samples(const mds_order *o, int64_t k)
{
    const int64_t nodes = o->shuffle.nodes, devices = devices_of(o);
    const int64_t each = (o->streams[k].choose + nodes - 1) / nodes;
    return (each + devices - 1) / devices * devices;
}

/* What is left of a batch after all shares are rounded down goes to those that lost most, of equal ones to the last. */
static void share_batch(const mds_order *o, portion *p)
{
    int64_t missing = o->batch;
    double lost[MDS_MAX_STREAMS];
    for (int64_t k = 0; k < o->nstreams; k++) {
        p[k].size = (int64_t)(o->streams[k].share * (double)o->batch);
        lost[k] = (double)o->batch * o->streams[k].share - (double)p[k].size;
        missing -= p[k].size;
    }
    for (; missing > 0; missing--) {
        int64_t most = 0;
        for (int64_t k = 1; k < o->nstreams; k++)
            most = lost[k] >= lost[most] ? k : most;
        p[most].size++;
        lost[most] = -1;
    }
}

static void count_parts(const mds_order *o, portion *p)
{
    if (o->batching == MDS_BATCH_STRATIFIED)
        share_batch(o, p);
    for (int64_t k = 0; k < o->nstreams; k++) {
        if (o->batching != MDS_BATCH_STRATIFIED)
            p[k].size = o->batch / devices_of(o);
        p[k].parts = p[k].size ? node_samples(o, k) * o->shuffle.nodes / p[k].size : 0;
    }
}

static int64_t least_parts(const mds_order *o, const portion *p)
{
    int64_t least = p[0].parts;
    for (int64_t k = 1; k < o->nstreams; k++)
        least = p[k].parts < least ? p[k].parts : least;
    return least;
}

int64_t mds_batches_places(const mds_order *o)
{
    portion p[MDS_MAX_STREAMS] = {{0}};
    int64_t all = 0;
    count_parts(o, p);
    for (int64_t k = 0; k < o->nstreams; k++)
        all += p[k].parts * p[k].size;
    return o->batching == MDS_BATCH_STRATIFIED ? least_parts(o, p) * o->batch : all;
}

tutti_status mds_batches_check(const mds_order *o, tutti_error *err)
{
    portion p[MDS_MAX_STREAMS] = {{0}};
    const int blocks = o->shuffle.algo == MDS_PY1E || o->shuffle.algo == MDS_PY1BR;
    if (o->batch % devices_of(o))
        return tutti_fail(err, TUTTI_E_ARG, "mds: batch_size %lld is not for %lld devices",
                          (long long)o->batch, (long long)devices_of(o));
    count_parts(o, p);
    for (int64_t k = 0; k < o->nstreams; k++) {
        const mds_order one = order_of_stream(o, k, 0);
        const int64_t each = (o->streams[k].choose + o->shuffle.nodes - 1) / o->shuffle.nodes;
        if (p[k].parts < 1 || (each % devices_of(o) && each < 2 * devices_of(o)))
            return tutti_fail(err, TUTTI_E_ARG,
                              "mds: stream %lld has %lld samples of an epoch, too few for "
                              "batches of %lld",
                              (long long)k + 1, (long long)o->streams[k].choose,
                              (long long)o->batch);
        if (o->mixed && blocks && one.shuffle.block < 2)
            return tutti_fail(err, TUTTI_E_ARG,
                              "mds: stream %lld has %lld samples of shuffle_block_size, want a "
                              "larger one",
                              (long long)k + 1, (long long)one.shuffle.block);
    }
    return TUTTI_OK;
}

/* ---- one stream ---- */

/* Of a node's row of samples the number at `at`: behind its end those before it come again, for the last of several devices. */
static int64_t repeated_sample(int64_t at, int64_t count, int64_t devices)
{
    const int64_t missing = (devices - count % devices) % devices;
    return at < count ? at : count - devices - missing + 1 + (at - count);
}

/* The stream's samples in the order in which its nodes, and in each of them its devices, take turns. */
static tutti_status order_stream(const mds_order *o, int64_t k, int64_t shard, int64_t first,
                                 int64_t epoch, portion *p, tutti_error *err)
{
    const mds_order one = order_of_stream(o, k, shard);
    const int64_t nodes = o->shuffle.nodes, devices = devices_of(o);
    const int64_t each = mds_order_places(&one) / nodes, all = node_samples(o, k);
    int64_t *turns = malloc(((size_t)each * (size_t)nodes + 1) * sizeof *turns), at = 0;
    p->samples = malloc(((size_t)all * (size_t)nodes + 1) * sizeof *p->samples);
    tutti_status s = turns && p->samples
                         ? mds_order_samples(&one, epoch, turns, err)
                         : tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for an order");
    for (int64_t row = 0; row < all && !s; row += devices)
        for (int64_t node = 0; node < nodes; node++)
            for (int64_t d = 0; d < devices; d++)
                p->samples[at++] =
                    first + turns[repeated_sample(row + d, each, devices) * nodes + node];
    free(turns);
    return s;
}

/* ---- all of them ---- */

static void join_strata(const mds_order *o, const portion *p, int64_t *ret)
{
    const int64_t batches = least_parts(o, p);
    for (int64_t b = 0; b < batches; b++)
        for (int64_t k = 0; k < o->nstreams; k++) {
            memcpy(ret, p[k].samples + b * p[k].size, (size_t)p[k].size * sizeof *ret);
            ret += p[k].size;
        }
}

/* Batches of one stream each, those of a stream in its order, and streams by chance. */
static tutti_status join_batches(const mds_order *o, const portion *p, int64_t epoch,
                                 int64_t *ret, tutti_error *err)
{
    int64_t count = 0, at = 0, taken[MDS_MAX_STREAMS] = {0};
    for (int64_t k = 0; k < o->nstreams; k++)
        count += p[k].parts;
    int64_t *streams = malloc(((size_t)count + 1) * sizeof *streams);
    if (!streams)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for an order");
    for (int64_t k = 0; k < o->nstreams; k++)
        for (int64_t b = 0; b < p[k].parts; b++)
            streams[at++] = k;
    numpy_rng rng;
    numpy_rng_init(&rng, o->shuffle.seed + (o->mixed && !o->fixed ? (uint64_t)epoch : 0));
    numpy_rng_shuffle(&rng, streams, count, sizeof *streams);
    for (int64_t b = 0; b < count; b++) {
        const portion *from = &p[streams[b]];
        memcpy(ret + b * from->size, from->samples + taken[streams[b]]++ * from->size,
               (size_t)from->size * sizeof *ret);
    }
    free(streams);
    return TUTTI_OK;
}

tutti_status mds_batches_samples(const mds_order *o, int64_t epoch, int64_t *ret,
                                 tutti_error *err)
{
    portion p[MDS_MAX_STREAMS] = {{0}};
    int64_t shard = 0, first = 0;
    tutti_status s = TUTTI_OK;
    count_parts(o, p);
    for (int64_t k = 0; k < o->nstreams && !s; k++) {
        s = order_stream(o, k, shard, first, epoch, &p[k], err);
        shard += o->streams[k].shards;
        first += o->streams[k].samples;
    }
    if (!s && o->batching == MDS_BATCH_STRATIFIED)
        join_strata(o, p, ret);
    else if (!s)
        s = join_batches(o, p, epoch, ret, err);
    for (int64_t k = 0; k < o->nstreams; k++)
        free(p[k].samples);
    return s;
}
