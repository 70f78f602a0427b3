/* order.h - the samples of an epoch, as MosaicML Streaming draws, shuffles and divides them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_ORDER_H
#define PLUGIN_MDS_ORDER_H

#include "shuffle.h"

/* A part of the shards, of which an epoch has a number of samples of its own. */
typedef struct mds_stream {
    int64_t shards;  /* how many, from where the last stream's end */
    int64_t samples; /* that they have */
    int64_t
        choose; /* that an epoch has; more than there are: all of them so many times, and a part of them */
} mds_stream;

typedef struct mds_order {
    const int64_t *shards;     /* samples of each shard, of all streams; borrowed */
    const mds_stream *streams; /* borrowed */
    int64_t nstreams;
    mds_shuffle shuffle;
    int64_t granularity; /* samples that are drawn from a shard at a time, at least 1 */
    int32_t fixed;       /* 1: each epoch has the same part of a stream's samples */
    int32_t mixed;       /* 1: samples are shuffled */
} mds_order;

/* Samples of an epoch, a multiple of the nodes: nodes of fewer samples give their last one twice. */
int64_t mds_order_places(const mds_order *o);
/* The sample at each place, counted over all shards.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_order_samples(const mds_order *o, int64_t epoch, int64_t *ret,
                                               tutti_error *err);

#endif
