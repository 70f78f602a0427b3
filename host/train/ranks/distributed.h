/* distributed.h - a run over several processes: which slots this rank computes, and what all make of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_DISTRIBUTED_H
#define HOST_TRAIN_RANKS_DISTRIBUTED_H

#include "dist/world.h"
#include "train/data/metric_set.h"
#include "train/ranks/device_gradients.h"
#include "train/ranks/slot_gradients.h"
#include "train/ranks/slot_sums.h"

/* The data of this rank, rank_batches.c. */
typedef struct rank_batches {
    bool whole;                     /* every rank loads all rows of training batches */
    struct data_source *evaluation; /* or prediction under way; NULL: none */
    tutti_status (*compute)(void *ctx, tutti_error *err); /* outputs of a batch of it */
    int64_t count;      /* of its batches, which ranks divide up */
    slot_list mine;     /* of these */
    int64_t at;         /* the one under way */
    bool passed;        /* its forward pass is over, on the rank that evaluates it */
    atomic_int stopped; /* the signal of any rank, or -1: this rank evaluates no more of them */
    uint64_t waits;     /* world_counts.blocking when ranks began to tell each other */
    uint32_t nsums;     /* of all metrics */
    double *values;     /* the metrics' sums of each batch of mine */
} rank_batches;

/* Who may read weights between batches, where one rank alone may do so. */
typedef struct weight_readers {
    const char *who; /* the first one of this rank; NULL: nobody */
    bool alone;      /* one of this rank is on no other, and may run the model forward */
    bool anywhere;   /* on any rank: all have all weights when a step is over */
} weight_readers;

/* The microbatches of a batch are slots (dist/slots.h).  Every rank loads the rows of its own slots, or all where somebody
 * reads them, and computes its own slots; gradients, buffers that the forward pass assigns, losses and metrics' sums
 * are then those of all slots, in one order.  So nothing depends on the number of ranks. */
typedef struct distributed {
    run_context *run;
    metric_set *metrics; /* of the training data */
    instance *comm;
    instance *device_comm; /* NULL: none */
    world *world;          /* NULL: a run without "distributed" */

    slot_gradients gradients;
    device_gradients device; /* where the run is on a device */
    slot_sums sums;          /* of statistics, while passes run */
    bool reads;              /* somebody here may read gradients */
    const char *reader;      /* the first one's name; NULL: nobody here */
    bool gathers;            /* somebody on any rank may: all get all of them */
    weight_readers weight_readers;
    int32_t told; /* TOLD_*: what the log was told of gradients last */
    bool written; /* this rank's shard of a checkpoint, which all know at the end of a batch */
    bool all_written; /* behind it: every rank's */
    bool begun;       /* a batch: all ranks sum its gradients, whatever comes */
    double *values;   /* a slot of mine: its loss by weight, then the metrics' sums */
    uint32_t nvalues;
    double *all_values;     /* of all slots */
    world_counts counts;    /* as the step under way found them */
    world_counts last_step; /* of the last one that is over */
    int64_t began_ns;       /* of the present lap */
    int64_t lap_ns;         /* rank 0's, for all clocks */
    rank_batches batches;
} distributed;

/* Plugin or part `who` of this rank may read gradients; NULL: none. */
void distributed_reads(distributed *d, const char *who);
/* The same of weights, between batches; where weights are sharded gradients come with them.  `alone`: other ranks do not have
 * `who`. */
void distributed_reads_weights(distributed *d, const char *who, bool alone);
/* Whether the model cannot be run forward: others' weights are not here, and other ranks may not come to gather them. */
bool distributed_is_alone(const distributed *d);
/* Joins the other ranks where the run file says so, before anything that can fail on one rank alone: whoever cannot go on
 * then tells the others.  Errors also: those of a rank that has come to refuse.  [control] */
TUTTI_NODISCARD tutti_status distributed_open(distributed *d, tutti_error *err);
/* Once the net is built: buckets of the size that fits it, where the run file does not say which.  [control] */
void distributed_fit_buckets(const distributed *d);
/* Instead of a run, on a rank that cannot read its run file, or `text` that `path` names: joins, tells all others why, and
 * leaves.  Errors: E_NOTFOUND the file has no comm that can be opened, and nothing has begun; those of joining.
 * [control] */
TUTTI_NODISCARD tutti_status distributed_refuse(const char *path, const char *text,
                                                const char *const *overrides, registry *r,
                                                const char *why, tutti_error *err);
/* Once the device is open: what cannot be done over several ranks yet, or never; opens the comm of devices.  [control] */
TUTTI_NODISCARD tutti_status distributed_check(distributed *d, tutti_error *err);
/* Once all ranks are known to run the same: connects their devices, where the run is on one.  Errors: those of
 * world_device_join.  [control] */
TUTTI_NODISCARD tutti_status distributed_join_devices(distributed *d, tutti_error *err);
/* Once loggers have begun: what rank 0 warns of.  [control] */
void distributed_advise(const distributed *d);
/* Before and behind waits for a rank that reads, fetches or writes the model and the optimizer's state, which may take longer
 * than `timeout_s`: by a second for each 10 MB of them. */
void distributed_await_files(const distributed *d, bool awaits);
/* Where this rank is, for the others, once nothing is under way.  [step] */
void distributed_tell(const distributed *d, const char *phase);
/* Sums under way end, and what is computed together is freed; the ranks are still there.  `failed`: the run ends with an
 * error here. */
void distributed_close(distributed *d, bool failed);
/* Behind distributed_close: leaves the other ranks, and closes the comm. */
void distributed_leave(distributed *d, bool failed);
bool distributed_on(const distributed *d);
/* Who prevents that updated weights are gathered while the next forward pass runs, as far as the run file and this rank
 * say, in `text`; false: nobody does. */
bool distributed_gathers_late(const distributed *d, char *text, size_t size);
/* Whether the run file shards gradients over the ranks, unless somebody reads them. */
bool distributed_shards_gradients(const distributed *d);
/* Whether this rank writes the run's files and speaks for it. */
bool distributed_first(const distributed *d);
/* Once all objects are open: settings, program, plugins, data, threads and CPUs that must be equal.  `samples` are those
 * of training, `evaluations` those of each evaluation.  E_ARG names rank, item and values.  [control] */
TUTTI_NODISCARD tutti_status distributed_compare(distributed *d, int64_t samples,
                                                 const int64_t *evaluations, tutti_error *err);
/* Of `n` numbers of the net, also on a device, for which it waits.  Errors: E_NOMEM, the device's.  [step] */
TUTTI_NODISCARD tutti_status distributed_hash(const run_context *run, const float *numbers,
                                              int64_t n, uint64_t *ret_hash, tutti_error *err);
/* After weights were loaded: that all have the same.  [control] */
TUTTI_NODISCARD tutti_status distributed_compare_start(distributed *d, tutti_error *err);
/* Kernels: those that rank 0 has measured are everybody's, and nothing is measured from then on.  Before other ranks
 * make plans, and after rank 0 has (`status`).  [control] */
TUTTI_NODISCARD tutti_status distributed_share_choices(distributed *d, tutti_status status,
                                                       tutti_error *err);

/* One evaluation of a batch: begin, with plans as gradients_begin, then for each slot of `mine` begin_slot and, when its gradients are there, end_slot;
 * then end, with the status of all that.  [step] */
TUTTI_NODISCARD tutti_status distributed_begin(distributed *d, int64_t slots, const plan *p,
                                               const plan *last, tutti_error *err);
TUTTI_NODISCARD tutti_status distributed_begin_slot(distributed *d, tutti_error *err);
/* Before the backward pass of the last of these slots, which `p` will run and nobody looks at before the batch's end:
 * gradients are summed while it runs.  True: on a device, for which `p` runs it apart from its other segments. */
bool distributed_overlap(distributed *d, int64_t slot, plan *p);
/* `share` is that of the slot in the batch's samples; `loss` its loss by this. */
TUTTI_NODISCARD tutti_status distributed_end_slot(distributed *d, int64_t slot, double share,
                                                  double loss, tutti_error *err);
/* Gradients, buffers, metrics and *ret_loss are now the batch's.  A failure of any rank is that of all. */
TUTTI_NODISCARD tutti_status distributed_end(distributed *d, tutti_status status,
                                             double *ret_loss, tutti_error *err);
/* A step begins, and is over with its update: what it took of the other ranks.  [step] */
void distributed_begin_step(distributed *d);
void distributed_end_step(distributed *d);
/* What must be equal on all ranks, as world_compare. */
TUTTI_NODISCARD tutti_status distributed_equal(distributed *d, const world_item *items,
                                               size_t n, tutti_error *err);
/* *value, of 0 to 127, becomes rank 0's.  Errors: those of world_exchange; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status distributed_take_first(distributed *d, int32_t *value,
                                                    tutti_error *err);
/* The signal that is accepted, or that stops this rank's part of the evaluation under way, whose rank it may not be, or -1, as
 * rank_batches.stopped; 0: none.  [step] */
int distributed_signal(const distributed *d);
/* Any rank's failure, as world_agree; `status` where there is one rank. */
TUTTI_NODISCARD tutti_status distributed_agree(distributed *d, tutti_status status,
                                               tutti_error *err);

#endif
