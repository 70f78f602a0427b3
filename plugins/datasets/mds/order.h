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
    double share; /* of an epoch's samples; all streams' add up to 1 */
} mds_stream;

/* What batches have of the streams. */
typedef enum mds_batching {
    MDS_BATCH_RANDOM,     /* what comes */
    MDS_BATCH_STRATIFIED, /* of each as many samples */
    MDS_BATCH_STREAM,     /* samples of one stream */
    MDS_BATCH_DEVICE      /* on each device samples of one stream */
} mds_batching;

typedef struct mds_order {
    const int64_t *shards;     /* samples of each shard, of all streams; borrowed */
    const mds_stream *streams; /* borrowed */
    int64_t nstreams;
    mds_shuffle shuffle;
    int64_t granularity; /* samples that are drawn from a shard at a time, at least 1 */
    int32_t fixed;       /* 1: each epoch has the same part of a stream's samples */
    int32_t mixed;       /* 1: samples are shuffled */
    int32_t batching;    /* mds_batching; by batches.h unless it is MDS_BATCH_RANDOM */
    int64_t batch;       /* samples of a batch, for the other batchings */
    int64_t devices;     /* that share it, for MDS_BATCH_DEVICE */
} mds_order;

/* Samples of an epoch, a multiple of the nodes: nodes of fewer samples give their last one twice. */
int64_t mds_order_places(const mds_order *o);
/* The sample at each place, counted over all shards.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status mds_order_samples(const mds_order *o, int64_t epoch, int64_t *ret,
                                               tutti_error *err);

#endif
