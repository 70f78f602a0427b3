/* run_sections.h - the sections of a run file, checked: objects, data, optimizer groups, device, ranks, checkpoints. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RUN_FILE_RUN_SECTIONS_H
#define HOST_TRAIN_RUN_FILE_RUN_SECTIONS_H

#include "base/faults.h"
#include "engine/handler_binding.h"
#include "engine/handlers/function.h"
#include "engine/profile/profiler.h"
#include "engine/trace.h"
#include "plugin/instance.h"
#include "tutti_host/device.h"
#include "tutti_host/loop.h"

#include <stdbool.h>

/* One object that the run names.  Whoever opens it takes `params` and sets it to NULL. */
typedef struct run_part {
    const object *object; /* borrowed from the registry */
    const char *name;     /* instance name: "id" if given, else the object's name */
    tutti_params *params;
    const json_node *at; /* where the run file says it */
} run_part;

typedef struct run_parts {
    run_part *items;
    size_t count;
} run_parts;

/* Whether all samples of a data set are read once and stay in memory. */
enum { RUN_RESIDENT_AUTO = -1, RUN_RESIDENT_NO, RUN_RESIDENT_YES };

/* Which samples an epoch of training data has, and in which order. */
enum { RUN_SAMPLER_NONE, RUN_SAMPLER_WEIGHTS, RUN_SAMPLER_CLASSES, RUN_SAMPLER_LENGTHS };
typedef struct run_sampler {
    int kind;           /* RUN_SAMPLER_* */
    bool once;          /* no sample twice in an epoch */
    int64_t samples;    /* of an epoch; 0: as many as the dataset has */
    const char *column; /* with classes or lengths; NULL: the usual one */
    char *weights;      /* the file's path; owned */
} run_sampler;

/* Training data shuffled in lanes of groups of samples, such as shards (train/data/epoch_lanes.h). */
typedef struct run_lanes {
    int64_t lanes;  /* 0: all samples are shuffled with all */
    int64_t window; /* groups whose samples are shuffled with each other */
} run_lanes;

/* Of an evaluation that lets a language model go on from prompts. */
typedef struct run_generate {
    int64_t max_new_tokens; /* 0: it does not */
    const char *stop;       /* text that ends an answer, and is no part of it; NULL: none */
} run_generate;

/* Where samples come from and how they become batches. */
typedef struct run_data {
    const char *label; /* "train", or an evaluation's own */
    run_part dataset;
    run_parts transforms;
    run_parts metrics;
    int64_t batch_size;
    int64_t subset_num_batches; /* -1: all */
    int64_t microbatch_size;    /* of an evaluation; as run_file's */
    run_generate generate;      /* the same */
    uint32_t workers;
    uint32_t prefetch;
    bool shuffle;
    bool drop_last;
    run_lanes lanes; /* with `shuffle` */
    run_sampler sampler;
    int resident;        /* RUN_RESIDENT_* */
    tutti_time interval; /* of an evaluation of a training run */
    binding *on; /* of a loop's: the events that it runs at; whoever binds it sets NULL */
} run_data;

/* Weights whose path matches `match` (a shell pattern) and no earlier group's. */
typedef struct run_group {
    const char *match; /* "*" for the last */
    bool frozen;       /* nothing trains them */
    run_part part;     /* the optimizer with this group's settings */
} run_group;

/* Number `index` of a backend's devices; without an object the host's own, "cpu" or "cuda". */
typedef struct run_device {
    run_part part;
    uint32_t index;
    tutti_cuda_settings cuda; /* for "cuda" */
    bool automatic; /* cuda:0 where that can be had, else cpu; the name tells once it is open */
} run_device;

/* What is sharded over the ranks. */
enum { SHARDING_NONE, SHARDING_STATES, SHARDING_GRADIENTS, SHARDING_WEIGHTS };

/* When gradients are summed: while the last microbatch's backward pass runs, behind it, or while each one's does. */
enum { SYNC_SINGLE, SYNC_FORCED, SYNC_MULTI };

/* Buffers that the forward pass assigns: the mean over the slots, or the first slot's. */
enum { BUFFERS_AVERAGE, BUFFERS_FIRST };
/* Whose samples batch norm's statistics are of. */
enum { BATCH_NORM_SLOT, BATCH_NORM_WORLD };

/* What gradients are summed in. */
enum { REDUCE_F32, REDUCE_BF16 };

/* Processes that train together; without an object of kind "comm", one. */
typedef struct run_distributed {
    run_part comm;
    run_part device_comm; /* of gradients on devices; no object: none */
    double join_timeout_s;
    int32_t sharding;     /* SHARDING_* */
    int32_t reduce_dtype; /* REDUCE_* */
    int32_t sync;         /* SYNC_* */
    int32_t buffers;      /* BUFFERS_* */
    int32_t batch_norm;   /* BATCH_NORM_* */
    double timeout_s;     /* 0: for ever */
    double bucket_mib;    /* of gradients that are summed at a time; 0: by their number */
    int32_t rank;         /* set by the trainer: this process; 0 alone */
    bool told;            /* and that rank 0 knows, and says, why the run has failed */
} run_distributed;

enum { RUN_MICROBATCH_AUTO = -1, RUN_MOST_THREADS = 4096 };

/* How far results repeat to the bit; engine files have Ignite's key of that name. */
enum { RUN_REPEATS_RUN, RUN_REPEATS_MACHINE, RUN_REPEATS_ANYWHERE };

/* What an engine file says of its loop. */
typedef struct run_loop {
    bool supervised; /* each batch is a training step; else `process` is called */
    bound_function process;
    tutti_loop_run_args args; /* but for the data */
    bool deterministic;
} run_loop;

/* What a loss that is not finite means. */
enum { RUN_NONFINITE_STOP, RUN_NONFINITE_WARN, RUN_NONFINITE_IGNORE };

/* Objects that take part in the events. */
typedef struct run_participants {
    run_parts algorithms;
    run_parts callbacks;
    run_parts loggers;
    run_parts passes;
    bool upstream_order; /* passes go as upstream's */
} run_participants;

/* Functions and files beside the events. */
typedef struct run_observers {
    binding_list handlers;
    trace_specs traces;
    profiler_options profiler;
    bool profiled;
} run_observers;

/* What learning rates are multiplied by, and when. */
typedef struct run_schedules {
    run_parts schedulers;
    bool every_batch; /* or every epoch */
} run_schedules;

/* How long a training run lasts. */
typedef struct run_length {
    tutti_time max_duration;
    tutti_time iteration_length; /* in ep or tok; unit NONE: no iterations */
    double scale_schedule_ratio;
} run_length;

/* What decides the bits of results beside the settings of objects. */
typedef struct run_numerics {
    const char *precision; /* "fp32" */
    int deterministic;     /* RUN_REPEATS_* */
    int on_nonfinite;      /* RUN_NONFINITE_* */
} run_numerics;

/* What is taken from files at the start, and which signals save. */
typedef struct run_checkpoints {
    char *weights;          /* a .safetensors file, or NULL */
    json_doc *published;    /* what the model's plugin says of published files, or NULL */
    const json_node *names; /* names of weights in there; may be NULL */
    bool strict;           /* weights that a file lacks, or has in another shape, end the run */
    const char **ignored;  /* patterns of names that are not taken; a NULL ends them */
    const char **excluded; /* algorithms without their surgery and state; a NULL ends them */
    unsigned signals;      /* that save, and let the run go on: RUN_SAVES_ON_* */
} run_checkpoints;
enum { RUN_SAVES_ON_HUP = 1, RUN_SAVES_ON_USR1 = 2, RUN_SAVES_ON_USR2 = 4 };

/* Whether the shell pattern matches `name`, such as "model.fc.weight", or what stands before one of its dots. */
bool run_pattern_matches(const char *pattern, const char *name);
/* Whether `name`, as a checkpoint has it, is not to be taken. */
bool run_ignores(const run_checkpoints *c, const char *name);
bool run_excludes(const run_checkpoints *c, const char *algorithm);

#endif
