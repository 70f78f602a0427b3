/* forecast.h - what a training step over many ranks would take: memory, bytes between ranks, time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_FORECAST_H
#define HOST_DIST_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

/* Buckets under way at once (pipeline.c): one is scattered while the one before it is added up and a third one gathered.
 * A comm that has one operation under way at a time needs the memory of one. */
enum { PIPELINE_BUCKETS = 3 };

/* Statistics of the batch: sums over slots that passes wait for, and the numbers of all of these. */
typedef struct forecast_statistics {
    uint32_t waits;
    int64_t numbers;
} forecast_statistics;

/* What is between ranks. */
typedef struct forecast_link {
    double latency_s;    /* between two machines */
    double bytes_per_s;  /* of a machine's link, either way */
    int32_t together;    /* ranks of a machine; 0 or 1: each has a machine of its own */
    double copied_per_s; /* bytes between two ranks of a machine; with `together` */
} forecast_link;

/* A run as one process knows it. */
typedef struct forecast_run {
    int64_t samples;    /* of a batch */
    int64_t microbatch; /* samples of a slot */
    int64_t weights;    /* numbers that are trained */
    int64_t buffers;    /* numbers that the forward pass assigns */
    uint64_t state;     /* bytes of optimizer state */
    bool shards_state;  /* each rank has a shard of the state */
    bool
        gathers_beside; /* with that alone or with `rounds`: weights are gathered beside the next forward pass */
    bool rounds;         /* and, unless it `gathers`, of the gradients: slots go in rounds */
    bool shards_weights; /* and then of the weights: each slot gathers them twice */
    bool gathers;        /* all ranks get the sums of all gradients, also with `shards_state` */
    bool half;           /* sums travel in 16 bits */
    bool whole;          /* a rank keeps all gradients, also in rounds */
    bool no_overlap;     /* sums begin behind the backward pass, and overlap none of it */
    forecast_statistics statistics;
    int64_t largest;  /* numbers of the largest weight */
    int64_t bucket;   /* numbers that are summed at a time */
    uint32_t ahead;   /* with `shards_weights`: buckets gathered before the one that is read */
    uint32_t waiting; /* buckets that wait for their sums at most, with `rounds` */
    uint64_t plan;    /* bytes of a slot's results */
    double slot_s;    /* a slot's forward and backward pass on one rank */
    double update_s;  /* of all weights on one rank */
    double add_s;     /* of one number to another */
    forecast_link link;
} forecast_run;

typedef struct forecast {
    int64_t slots;
    int64_t most_slots; /* of a rank */
    uint32_t
        blocks; /* of the summation tree, at most on a rank at a time; 1: the least that can be sent */
    /* Bytes of the rank that needs most. */
    uint64_t weights;
    uint64_t gradients;
    uint64_t state;
    uint64_t sums;    /* of slots that wait for others, and of buckets under way */
    uint64_t results; /* of slots that run at once */
    uint64_t total;
    uint64_t sent;     /* in a step, by the rank that sends most */
    uint64_t crossing; /* of it: to other machines */
    double step_s;
    double exposed_s;  /* of it: waiting for other ranks' gradients or weights */
    double efficiency; /* the slots' time and the update on ideal ranks, over the step */
} forecast;

/* With `ranks` ranks.  Latencies and bandwidths add up as in alpha-beta models of collectives: an all-to-all among M machines
 * takes log2 M latencies, an all-gather M - 1; of several ranks a machine these share its link, sums are made on the machine
 * first, and copies there have no latency.  A forward pass takes a third of a slot's time.  Buckets are ready at even distances over the last slot's backward pass, two
 * thirds of its time, and summed one after the other: what a pipeline of them hides is not counted. */
void forecast_step(const forecast_run *run, int32_t ranks, forecast *ret);
/* The microbatch nearest below the run's with which `ranks` ranks have one block of slots each, all equal; 0: none. */
int64_t forecast_better_microbatch(const forecast_run *run, int32_t ranks);
/* The most ranks up to `ranks` that have one block each, all equal. */
int32_t forecast_better_ranks(const forecast_run *run, int32_t ranks);

#endif
