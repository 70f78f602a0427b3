/* trainer_state.h - a trainer: its components, and what its own files call of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_STATE_H
#define HOST_TRAIN_TRAINER_STATE_H

#include "base/folder_lock.h"
#include "train/async_metrics.h"
#include "train/data_source.h"
#include "train/distributed.h"
#include "train/observers.h"
#include "train/plugin_kernels.h"
#include "train/trainer.h"
#include "train/weights_service.h"
#include "tutti/checkpoint.h"
#include "tutti/metrics.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/train.h"

/* The plans of the microbatch under way. */
typedef struct step_plans {
    plan *forward;
    plan *loss;    /* over the same forward pass; another one where targets have changed */
    plan *watched; /* whose backward pass begins sums over the ranks; NULL: none */
    float loss_scale;
    bool updated; /* the update was part of the last segment */
} step_plans;

/* training_loop.h: what a loop other than fit's has set. */
typedef struct loop_hooks {
    const void *(*answer)(void *ctx, const char *interface_id);
    tutti_status (*save)(void *ctx, char **ret_text, tutti_error *err);
    tutti_status (*load)(void *ctx, const char *path, const char *text, tutti_error *err);
    void *ctx;
    data_source *data; /* that it loads; NULL: the training data */
} loop_hooks;

/* An evaluation that events of a loop start. */
typedef struct loop_evaluation {
    trainer *trainer;
    size_t number; /* of the evaluation */
    char name[80]; /* of its handler */
} loop_evaluation;

/* What plugins can ask for. */
typedef struct trainer_services {
    tutti_state_v1 state;
    tutti_metrics_v1 metrics;
    weights_service weights;
    tutti_train_v1 train;
    tutti_checkpoint_v1 checkpoint;
} trainer_services;

/* How a checkpoint is taken up, and what came of it. */
typedef struct trainer_resume {
    bool accept_bits; /* one that other kernels computed is taken up */
    bool strict;      /* one of other settings is refused */
    bool same;        /* this run's kernels computed it too */
} trainer_resume;

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
    const char *eval_label;     /* of the evaluation under way, or NULL */
    step_plans plans;
    observers observers;
    trainer_resume resume;
    bool failed;        /* to open, or to train */
    bool begun;         /* INIT has been fired and the checkpoint, if any, loaded */
    bool fits;          /* it trains, and writes to the run's folders */
    folder_lock *locks; /* on these */

    trainer_services services;
};

/* ---- events.c ---- */

/* Fires `event`, then takes up what plugins have written to host mirrors.  [step] */
TUTTI_NODISCARD tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err);
/* Whether training ends here: max_duration is over, or a signal has come. */
bool trainer_done(const trainer *t);

/* Whether epochs can be counted: iterations of tokens begin the data anew, and where each ends inside an
 * epoch no epoch ever does.  E_ARG.  [control] */
TUTTI_NODISCARD tutti_status trainer_check_epochs(const trainer *t, tutti_error *err);

/* ---- plan_step.c: one plan, bound to a batch and run ---- */

/* A step is SEGMENT_FORWARD, SEGMENT_LOSS, SEGMENT_BACKWARD and this, with events in between. */
enum { SEGMENT_UPDATE = SEGMENT_COUNT };

/* What net_plan is asked for: the columns of `b` that the model names.  Errors: E_NOTFOUND. */
TUTTI_NODISCARD tutti_status trainer_request(trainer *t, int kind, batch *b,
                                             plan_request *ret_request, tutti_error *err);
/* Points the plan's inputs, or targets, at the batch; copies what is not aligned or not there. */
TUTTI_NODISCARD tutti_status trainer_bind_inputs(trainer *t, plan *p, batch *b,
                                                 tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_bind_targets(trainer *t, plan *p, batch *b,
                                                  tutti_error *err);
/* The last segment that runs as one with `first`, because nobody hears the events in between; `last`:
 * of the batch's last microbatch. */
int trainer_merges(const trainer *t, int first, bool last);
/* One segment, with what open mirrors have for it. */
TUTTI_NODISCARD tutti_status trainer_run(trainer *t, plan *p, int segment, float loss_scale,
                                         tutti_error *err);
/* Segments `first` to `last` as one. */
TUTTI_NODISCARD tutti_status trainer_run_merged(trainer *t, plan *p, int first, int last,
                                                tutti_error *err);

/* ---- preview.c ---- */

/* The plan of a training step, or of a microbatch of it, before any.  [control] */
TUTTI_NODISCARD tutti_status trainer_preview_plan(trainer *t, plan **ret_plan,
                                                  tutti_error *err);

/* ---- train_step.c ---- */

/* With microbatch_size "auto", after `err` says that memory is out: halves it, clears `err`, and says
 * so; false when it cannot. */
bool trainer_halve(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_step_batch(trainer *t, tutti_error *err);
/* Whether gradients are summed over the ranks while the backward pass runs: nobody looks at a slot's own. */
bool trainer_overlaps(const trainer *t);

/* ---- begin.c, evaluate.c ---- */

/* All that comes before the first event of fit, eval or predict: INIT, the checkpoint, the load
 * events.  `resume` as in trainer_fit. */
TUTTI_NODISCARD tutti_status trainer_begin(trainer *t, const char *resume, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_evaluate_due(trainer *t, int32_t event, tutti_error *err);
/* Evaluation k at an event of a loop, or inside its process function; the training batch under way keeps
 * its columns, not its outputs.  E_STATE as training_evaluate.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_now(trainer *t, size_t k, tutti_error *err);
/* Evaluations of an engine file become handlers of the events that it names.  [control] */
TUTTI_NODISCARD tutti_status trainer_bind_evaluations(trainer *t, tutti_error *err);

/* The forward pass and the loss of the evaluation batch that is loaded; outputs and loss are then the state's.  [step] */
TUTTI_NODISCARD tutti_status trainer_evaluate_batch(trainer *t, tutti_error *err);

/* ---- rank_batches.c: the part of the data that is this rank's; all of it in a run without "distributed" ---- */

/* Once data and ranks are there.  [control] */
void rank_batches_open(trainer *t);
/* One evaluation: begin before its data are sought; for each batch evaluates, whether this rank computes it, and next,
 * which takes the metrics' sums of the batch away; end, with the status of all that: the metrics have the sums of
 * all batches, in their order.  A failure of any rank is that of all.  [step] */
TUTTI_NODISCARD tutti_status rank_begin_evaluation(trainer *t, data_source *e,
                                                   tutti_error *err);
bool rank_evaluates(const trainer *t);
void rank_next_evaluation_batch(trainer *t);
TUTTI_NODISCARD tutti_status rank_end_evaluation(trainer *t, tutti_status status,
                                                 tutti_error *err);

/* ---- resume.c ---- */

/* Of the training data; 0 without. */
int64_t trainer_samples(const trainer *t);
/* All ranks call it; it fails on all where rank 0 cannot write. */
TUTTI_NODISCARD tutti_status trainer_save(trainer *t, const char *path, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_load(trainer *t, const char *path, tutti_error *err);
/* Nobody else writes to `folder` until the trainer is destroyed.  Errors: E_STATE names who does now. */
TUTTI_NODISCARD tutti_status trainer_claim(trainer *t, const char *folder, tutti_error *err);

/* ---- services ---- */

void state_service_init(trainer *t);
void train_service_init(trainer *t);
/* All of them; the trainer's members are in place. */
void trainer_services_init(trainer *t);
/* Answers a plugin's host->query.  ctx is the trainer; `i` NULL: a function of the run file. */
const void *trainer_service(void *ctx, instance *i, const char *interface_id);

#endif
