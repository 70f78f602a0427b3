/* trainer_state.h - a trainer: the components of a run, each with its own header. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_TRAINER_STATE_H
#define HOST_TRAIN_STEP_TRAINER_STATE_H

#include "base/folder_lock.h"
#include "train/context/observers.h"
#include "train/data/data_source.h"
#include "train/ranks/distributed.h"
#include "train/ranks/ranks_service.h"
#include "train/step/async_metrics.h"
#include "train/step/write_behind.h"
#include "train/update/plugin_kernels.h"
#include "train/update/weights_service.h"
#include "tutti/checkpoint.h"
#include "tutti/export.h"
#include "tutti/metrics.h"
#include "tutti/plan.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/train.h"

typedef struct trainer trainer; /* trainer/trainer.h */
typedef struct answers answers; /* generate/answers.h */

/* The plans of the microbatch under way. */
typedef struct step_plans {
    plan *forward;
    plan *loss;    /* over the same forward pass; another one where targets have changed */
    plan *watched; /* whose backward pass begins sums over the ranks; NULL: none */
    bool apart;    /* that pass is no part of a graph with others */
    struct slot_runs *slots; /* that run side by side: side_by_side.h; NULL: none have */
    capture_log captures;    /* as told last: device_report.h */
    float loss_scale;
    bool updated;             /* the update was part of the last segment */
    bool counts;              /* somebody asks for `flops` */
    double flops;             /* of this process, for the batch */
    const program *described; /* by tutti.plan/1, in this batch; NULL: none */
    const plan *valued;       /* whose program that is; NULL: of one that was refused */
    const program
        *refused;      /* of a plan that does not fit, while plugins hear of it; else NULL */
    bool refusal_told; /* they have; memory_observers.h */
} step_plans;

/* Who wants to know that the run is complete. */
typedef struct begin_hook {
    void (*call)(void *ctx, const trainer *t);
    void *ctx;
} begin_hook;

/* Who shows what a run has come to on its device. */
typedef struct fact_hook {
    void (*call)(void *ctx, const char *key, const char *text);
    void *ctx;
} fact_hook;

/* training_loop.h: what a loop other than fit's has set. */
typedef struct loop_hooks {
    const void *(*answer)(void *ctx, const char *interface_id);
    tutti_status (*save)(void *ctx, char **ret_text, tutti_error *err);
    tutti_status (*load)(void *ctx, const char *path, const char *text, tutti_error *err);
    void *ctx;
    data_source *data; /* that it loads; NULL: the training data */
    begin_hook begun;  /* of any loop */
    fact_hook facts;   /* likewise */
} loop_hooks;

/* An evaluation that events of a loop start. */
typedef struct loop_evaluation {
    trainer *trainer;
    size_t number; /* of the evaluation */
    char name[80]; /* of its handler */
} loop_evaluation;

/* What evaluations have. */
typedef struct trainer_evaluation {
    const char *label; /* of the one under way, or NULL */
    bool cut;          /* a signal has stopped the one that ends before its last batch */
    bool some_done;    /* of those that were due together, while others are owed */
    int32_t event;    /* the trainer's that is under way: what an evaluation in it belongs to */
    answers *answers; /* of those that generate; NULL: none has begun */
} trainer_evaluation;

/* What plugins can ask for. */
typedef struct trainer_services {
    tutti_state_v1 state;
    tutti_metrics_v1 metrics;
    weights_service weights;
    tutti_train_v1 train;
    tutti_activations_v1 activations;
    tutti_plan_v1 plan;
    tutti_checkpoint_v1 checkpoint;
    tutti_export_v1 exporting;
    ranks_service ranks;
} trainer_services;

/* How a checkpoint is taken up, and what came of it. */
typedef struct trainer_resume {
    bool accept_bits; /* one that other kernels computed is taken up */
    bool strict;      /* one of other settings is refused */
    bool same;        /* this run's kernels computed it too */
    bool anew;        /* the clock of the checkpoint is set to 0: the run is another one */
    bool whole;       /* one is loaded whole before the run begins */
    bool unended;     /* an attempt before this one has not come to the run's end */
    bool ended;       /* one has, at the batch of the checkpoint that is taken up */
    bool over;        /* nothing is left to do */
    /* A batch or an epoch has been counted, and its checkpoint event is still to come.  `tutti run` knows that by the
     * evaluations that it owes. */
    bool left;
    bool iteration_left; /* likewise an iteration */
    bool midway;  /* "auto" takes it up behind all ends that attempts before this one came to */
    bool stopped; /* midway, and stop_training was called before the checkpoint was written */
    bool ending;  /* FIT_END is fired; a run that goes on fires it again */
    bool started; /* all have heard FIT_START: files are where the checkpoint has them */
} trainer_resume;

typedef struct run_repeat run_repeat; /* record/repeat.h */

/* What the run's folder tells of the run (record/record.h). */
typedef struct run_record {
    const char *version; /* of the program, borrowed; NULL: no record is kept */
    char *start;         /* how the first attempt was started, as JSON */
    char *attempts;      /* those before this one, as JSON; NULL: none */
    char *run;           /* the run file, as the record has it; NULL: nothing is written yet */
    char *memory;        /* what memory goes to, as JSON; NULL: not known */
    double started;      /* Unix seconds */
    const run_repeat *repeats; /* the run that this one repeats, borrowed, or NULL */
    bool resumes;              /* this attempt goes on from a checkpoint of the run */
    bool unended; /* as the record has it, an attempt before this one was not finished */
    bool
        finished; /* the attempt before this one was; its record stays until there is more to do */
    int64_t ended_at;    /* batches of one that was, of these settings; 0: none was */
    int64_t finished_at; /* the most of any that was, of whatever settings */
    bool planned;        /* kernels are chosen */
    bool broken;         /* it cannot be written, which has been said */
} run_record;

/* What a run that trains writes. */
typedef struct trainer_files {
    folder_lock *locks;  /* on its folders */
    write_behind behind; /* a checkpoint */
    run_record record;
    char *own;    /* paths that processes have noted, record/own_files.h; NULL: none */
    bool follows; /* this one takes up what they began */
} trainer_files;

struct trainer {
    run_context run;
    loop_hooks hooks;
    step_tensors tensors;
    host_mirrors mirrors;
    uploads uploads;
    plugin_kernels kernels;
    device_scalars scalars;
    loss_scaler scaler;
    updater updater;
    numeric_guard guard;
    async_metrics async;
    distributed distributed;
    data_source train;
    data_source *evals;
    size_t nevals;
    loop_evaluation *on_events; /* of an engine file, one an evaluation */
    trainer_evaluation evaluation;
    step_plans plans;
    observers observers;
    trainer_resume resume;
    bool failed; /* to open, or to train */
    bool begun;  /* INIT has been fired and the checkpoint, if any, loaded */
    bool fits;   /* it trains, and writes to the run's folders */
    trainer_files files;

    trainer_services services;
};

#endif
