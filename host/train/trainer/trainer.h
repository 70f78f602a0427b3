/* trainer.h - one training run: opens what the run file names, fits, evaluates, saves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_TRAINER_H
#define HOST_TRAIN_TRAINER_TRAINER_H

#include "engine/engine.h"
#include "train/context/signals.h"
#include "train/run_file/run_file.h"
#include "tutti/history.h"
#include "tutti/op.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct trainer trainer; /* opaque */

/* Opens every object, builds the model, seals the engine.  Takes the params out of `run`, which must
 * outlive the trainer.  `ops` is the NULL-terminated table of operations.  *ret_trainer is set where it fails too, unless
 * memory is out: a caller destroys it behind its message, since the comm of ranks that do not agree may end the process
 * then.  [control] */
TUTTI_NODISCARD tutti_status trainer_create(run_file *run, registry *r,
                                            const tutti_op *const *ops, trainer **ret_trainer,
                                            tutti_error *err);
void trainer_destroy(trainer *t); /* closes what is open; NULL is allowed */

/* Warnings and errors that belong on the operator's terminal whatever loggers there are; of an engine
 * file, or with `all`, all messages. */
void trainer_on_message(trainer *t,
                        void (*message)(void *ctx, int level, const char *component,
                                        const char *text),
                        void *ctx, bool all);

/* Before the first fit: the run's folder keeps a record, from which the run can be repeated (record/README.md).
 * Without it the library writes nothing of its own. */
typedef struct run_repeat run_repeat; /* record/repeat.h */
typedef struct record_options {
    const char *version;  /* of the program; borrowed, as `repeats` is */
    const char *resume;   /* how the run is started, as in fit_options; or NULL */
    const char *duration; /* what fit_options' is read from, or NULL */
    bool reset_time;
    const run_repeat *repeats; /* another run that is repeated, record/repeat.h; or NULL */
} record_options;
TUTTI_NODISCARD tutti_status trainer_keep_record(trainer *t, const record_options *o,
                                                 tutti_error *err);
/* What came of all fits; `why` is the sentence of the error, NULL without one.  [control] */
void trainer_end_record(trainer *t, tutti_status s, const char *why);

typedef struct fit_options {
    /* Of the first fit: NULL for a fresh start, "auto" for the latest checkpoint of this run if there is
     * one, else a checkpoint's path.  Later fits go on from where the last one ended. */
    const char *resume;
    tutti_time duration; /* from now on; unit NONE: until the run's max_duration */
    bool
        accept_bits; /* a checkpoint of other kernels, threads or CPU is told of, not refused */
    bool strict; /* a checkpoint that was written with other settings is refused, not told of */
    bool reset_time; /* the clocks begin at zero again; weights and states stay */
} fit_options;

/* Trains until the duration is over; may be called again.  A max_duration of 0 evaluates alone, once.  Errors: E_STATE the duration is over already
 * (trainer_was_over); E_INTERRUPTED a caught signal ended it after a batch: a checkpoint has then been
 * written if the run has a saver.  [control] */
TUTTI_NODISCARD tutti_status trainer_fit(trainer *t, const fit_options *o, tutti_error *err);
/* All that comes before the first event of fit, eval or predict: INIT, the checkpoint, the load events.  They do it
 * themselves; who has use for the model alone does it.  `resume` as in fit_options.  [control] */
TUTTI_NODISCARD tutti_status trainer_begin(trainer *t, const char *resume, tutti_error *err);

/* Whether max_duration is over. */
bool trainer_finished(const trainer *t);
/* Whether the last run was taken up and had nothing left to do, which is the error that it ended with. */
bool trainer_was_over(const trainer *t);

/* Instead of a fit: every evaluation of the run file once, with the weights of `checkpoint` (as
 * `resume` above).  Errors: E_ARG the run has no evaluation.  [control] */
TUTTI_NODISCARD tutti_status trainer_eval(trainer *t, const char *checkpoint, tutti_error *err);

/* Takes the model's first output for a batch, (B, ...); borrowed for the call. */
typedef tutti_status (*trainer_sink)(void *ctx, const tutti_tensor *output, tutti_error *err);
/* Instead of a fit: hands the outputs for the data of evaluation `label` (NULL: the first one) to
 * `sink`, batch by batch in the data's order.  Errors: E_ARG, E_NOTFOUND for the label, the sink's.
 * [control] */
TUTTI_NODISCARD tutti_status trainer_predict(trainer *t, const char *checkpoint,
                                             const char *label, trainer_sink sink, void *ctx,
                                             tutti_error *err);

/* What the training data, else those of an evaluation, call class `k` of their labels; NULL: they do not say.  Borrowed.
 * [control] */
const char *trainer_class_name(const trainer *t, int64_t k);

/* How a plan is told: as text, as a drawing in Graphviz's language, or what its operations move. */
enum { PREVIEW_TEXT, PREVIEW_DRAWING, PREVIEW_TRAFFIC };
/* Writes the plan of one training step, `how` is PREVIEW_*, without training.  Surgery that algorithms do at init is
 * not in it.  [control] */
TUTTI_NODISCARD tutti_status trainer_preview(trainer *t, FILE *file, int how, tutti_error *err);

/* What connects two machines. */
typedef struct preview_link {
    double gigabits; /* a second, either way */
    double latency_us;
    int32_t together; /* ranks of a machine, from 1 */
} preview_link;
/* Measures a slot, an update and sums here, without other ranks, and writes what a step over `ranks` ranks would take:
 * memory, bytes, time, and which sizes would be better.  The trainer is good for nothing else then.  Errors:
 * E_UNSUPPORTED the run's device is no CPU.  [control] */
TUTTI_NODISCARD tutti_status trainer_preview_world(trainer *t, FILE *file, int32_t ranks,
                                                   const preview_link *link, tutti_error *err);

/* Writes a line: which segments of a step run as one, and the events in between that are heard; and one of what
 * `deterministic` promises of the bits.  Errors: those of engine_order. */
TUTTI_NODISCARD tutti_status trainer_tell_step(const trainer *t, FILE *file, tutti_error *err);

engine *trainer_engine(trainer *t);
const tutti_timestamp *trainer_time(const trainer *t);
/* The last value logged under `name`; NULL: there is none. */
const double *trainer_metric(const trainer *t, const char *name);
/* What the run's logger in memory has kept; NULL: the run has none. */
const tutti_history_v1 *trainer_history(const trainer *t);

#endif
