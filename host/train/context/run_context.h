/* run_context.h - what every part of a run shares: its file, objects, device, net, clock, stage and log. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_RUN_CONTEXT_H
#define HOST_TRAIN_CONTEXT_RUN_CONTEXT_H

#include "device/backend.h"
#include "engine/engine.h"
#include "graph/plan/plan.h"
#include "train/context/run_log.h"
#include "train/run_file/run_file.h"
#include "tutti/closure.h"
#include "tutti/model.h"

#include <stdbool.h>

/* Where the run is in time. */
typedef struct run_clock {
    tutti_timestamp now;
    tutti_timestamp previous;  /* before the last batch; see has_previous */
    tutti_timestamp eval;      /* of the evaluation or prediction under way */
    tutti_timestamp predict;   /* of the prediction */
    tutti_timestamp scheduled; /* when the learning rates were last set */
    tutti_time max_duration;
    tutti_time planned;        /* max_duration as it was before anything stopped training */
    int64_t lap_ns;            /* when the present lap of training time began */
    int64_t batches_per_epoch; /* of training; -1: not known */
    bool has_previous;
    bool stopped; /* by stop_training */
} run_clock;

/* How far the run is, and what is under way. */
typedef struct run_stage {
    int32_t event; /* the trainer's that is under way: what an evaluation in it belongs to */
    const char *evaluation; /* label of the evaluation or prediction under way, or NULL */
    bool cut;     /* a signal has stopped the evaluation that ends before its last batch */
    bool fits;    /* it trains, and writes to the run's folders */
    bool begun;   /* INIT has been fired and the checkpoint, if any, loaded */
    bool started; /* all have heard FIT_START: files are where a checkpoint has them */
    bool failed;  /* to open, or to train */
} run_stage;

/* The objects that take part in events: loggers, callbacks, algorithms, passes, in this order. */
typedef struct participants {
    instance **items;
    size_t count;
    size_t nloggers;
    instance *wrapper; /* the one that makes the update itself, or NULL */
    const tutti_optimizer_wrapper_v1 *wrapper_table;
    bool wrapper_looks; /* it reads the loss of an evaluation */
} participants;

typedef struct run_context {
    run_file *file;             /* borrowed */
    registry *registry;         /* borrowed */
    const tutti_op *const *ops; /* borrowed; a NULL ends them */
    service_fn services;        /* answers what plugins ask the host for, with services_ctx */
    void *services_ctx;
    engine *engine;
    backend device;
    uint32_t
        device_place; /* of this process among those of its machine that take a device each; 0: alone */
    char device_complaint
        [440]; /* why an automatic choice passed over a GPU that is there, or "" */
    net *net;  /* NULL without a model, which a loop of functions has not */
    instance *model;
    instance *loss; /* NULL: the model's own */
    const tutti_model_v1 *model_table;
    participants participants;
    run_clock clock;
    run_stage stage;
    run_log log;
    tutti_step step;  /* what launches carry */
    char folder[512]; /* absolute: <working directory>/runs/<name> */
    uint64_t seed;
    int threads;
} run_context;

/* Opens an object that the run file names, which takes the part's parameters.  [control] */
TUTTI_NODISCARD tutti_status context_open(run_context *run, run_part *part,
                                          instance **ret_instance, tutti_error *err);
/* Opens the run file's device.  [control] */
TUTTI_NODISCARD tutti_status context_open_device(run_context *run, tutti_error *err);

/* Warns where an automatic choice passed over a GPU that is there.  [control] */
void context_announce_device(run_context *run);

/* NULL: the host's own memory and kernels. */
const tutti_device *context_device(const run_context *run);
/* Whether the host cannot reach weights and results. */
bool context_is_remote(const run_context *run);
/* After each update: what the device has gathered goes to work. */
TUTTI_NODISCARD tutti_status context_step_device(run_context *run, tutti_error *err);

/* Says what is wrong with the file of measured kernels, if anything is and was not said. */
void context_tune_message(run_context *run);

/* As upstream: the duration becomes what has passed, so that everything due at the end is due. */
void clock_stop(run_clock *c);
/* Whether max_duration has passed. */
bool run_is_over(const run_context *run);
/* Whether training ends here: that, or a signal has come. */
bool run_is_done(const run_context *run);

#endif
