/* updater.h - optimizer groups over the flat arenas: their state, their rates, one update of all weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_UPDATE_UPDATER_H
#define HOST_TRAIN_UPDATE_UPDATER_H

#include "graph/runtime/graph_capture.h"
#include "train/update/gradient_norm.h"
#include "train/update/loss_scaler.h"
#include "tutti/scheduler.h"

struct plugin_kernels;
struct updater;

typedef struct optimizer_group {
    instance *optimizer;
    const tutti_optimizer_v1 *table;
    const char *match; /* shell pattern of weights' paths */
    double lr;         /* of now */
    bool given;        /* a plugin has set it since the schedule last did */
    bool kernel;       /* it updates weights on the run's device */
    bool by_weight;    /* an update of it is one whole weight */
} optimizer_group;

/* State of a range: its place in a slot, and its shape; a dimension of 0: there is none. */
typedef struct state_place {
    int64_t at;
    tutti_desc shape;
} state_place;

/* Neighbours in the arena that belong to one group; one weight, where the group's optimizer wants it whole. */
typedef struct param_range {
    struct updater *updater;
    int64_t weight; /* its number in the net; -1: any number of them */
    int64_t first;  /* in the arena */
    int64_t count;
    state_place state[TUTTI_OPTIMIZER_MAX_SLOTS];
    uint32_t group;
    int32_t threads;
    tutti_op_call call; /* where a device makes the update */
    tutti_desc desc[TUTTI_OPTIMIZER_MAX_SLOTS + 4];
} param_range;

/* The net's trained weights in ranges. */
typedef struct update_layout {
    int32_t *group_of; /* per weight of the net; -1 for none */
    int32_t *range_of; /* the same; without `world` */
    param_range *ranges;
    size_t nranges;
    int64_t counts[TUTTI_OPTIMIZER_MAX_SLOTS]; /* numbers of each slot; without `world` */
} update_layout;

/* Memory that updates work with. */
typedef struct update_memory {
    void *scratch;        /* on the device, for the whole weight that asks for most; or NULL */
    uint64_t bytes;       /* of scratch */
    float *staged;        /* on the host, where a device does not run the optimizer's code */
    void *staged_scratch; /* beside it; or NULL */
} update_memory;

/* What is behind a step this rank's shards alone, and how they come together. */
typedef struct update_sharding {
    struct world_device *
        *devices;   /* that gather weights which lie on them; not opened: NULL there */
    bool gradients; /* behind the sums over ranks */
    bool weights;   /* the others' are not gathered behind the update */
    bool *stale;    /* which makes this true: the others' weights are not here */
} update_sharding;

typedef struct updater {
    run_context *run;
    host_mirrors *mirrors;
    device_scalars *scalars;
    const loss_scaler *scaler;
    optimizer_group *groups;
    size_t ngroups;
    instance **schedulers;
    size_t nschedulers;
    bool has_kernels;   /* every group has one on the run's device */
    bool reads_numbers; /* and all read there what changes from step to step */
    uint32_t nslots;
    update_sharding sharding;
    struct world *world; /* whose ranks have shards of the slots; NULL: they are here */
    float *slots[TUTTI_OPTIMIZER_MAX_SLOTS]; /* as the layout says, or this rank's shards */
    int64_t count;                           /* of the arena that the slots fit */
    update_layout layout;
    uint64_t version;           /* of the net that all this fits */
    int64_t step;               /* updates so far */
    const tutti_device *device; /* where the arena and the slots lie; NULL: here */
    double *numbers; /* on the device: TUTTI_UPDATE_NUMBERS a group; scalars have their own */
    uint16_t *half;  /* net_half_weights, where all groups write it; or NULL */
    int32_t half_dtype;
    update_memory memory;
    gradient_norm norm;
    graph_captures graphs; /* of updates that are no part of another graph */
} updater;

/* The group of the weight at `path`: of `run` (a run_file) the first that matches.  A net_group_fn. */
uint32_t updater_group(const void *run, const char *path);
/* The other members that point elsewhere are set.  [control] */
TUTTI_NODISCARD tutti_status updater_open(updater *u, struct plugin_kernels *kernels,
                                          tutti_error *err);
/* Commits what surgery has changed in the net and fits slots and ranges to it; state moves along with its
 * weights.  A run without a net has nothing to fit.  [control] */
TUTTI_NODISCARD tutti_status updater_refit(updater *u, tutti_error *err);
/* Sets every group's learning rate for the time of now, or for run_clock.scheduled again.  [step] */
TUTTI_NODISCARD tutti_status updater_schedule(updater *u, tutti_error *err);
TUTTI_NODISCARD tutti_status updater_reschedule(updater *u, tutti_error *err);
void updater_close(updater *u);

/* optimizer_step.c: one update of all weights.  [step] */
TUTTI_NODISCARD tutti_status updater_step(updater *u, tutti_error *err);
/* The same in three parts, where it is part of a merged run: before that, in it, and after it went well. */
TUTTI_NODISCARD tutti_status updater_begin(updater *u, tutti_error *err);
plan_tail updater_tail(updater *u);
void updater_end(updater *u);
bool updater_merges(const updater *u); /* whether it may be */
/* Whether the update goes by way of the host because the device runs none of the optimizer's code. */
bool updater_is_staged(const updater *u);

#endif
