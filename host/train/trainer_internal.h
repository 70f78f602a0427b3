/* trainer_internal.h - the parts of a trainer, as its own files see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_INTERNAL_H
#define HOST_TRAIN_TRAINER_INTERNAL_H

#include "device/backend.h"
#include "engine/duration.h"
#include "engine/engine.h"
#include "graph/net.h"
#include "graph/replay.h"
#include "train/loader.h"
#include "train/resident.h"
#include "train/trainer.h"
#include "tutti/checkpoint.h"
#include "tutti/closure.h"
#include "tutti/device_view.h"
#include "tutti/log.h"
#include "tutti/logger.h"
#include "tutti/metric.h"
#include "tutti/metrics.h"
#include "tutti/model.h"
#include "tutti/optimizer.h"
#include "tutti/scheduler.h"
#include "tutti/state.h"
#include "tutti/stateful.h"
#include "tutti/train.h"
#include "tutti/weights.h"

/* ---- view.c: what plugins see of a device whose memory is out of the host's reach ---- */

/* Who looks at a tensor there gets a copy on the host, and what it writes goes back.  One copy serves
 * until the device has changed what it shows. */
enum {
    VIEW_WEIGHTS,
    VIEW_BUFFERS,
    VIEW_GRADIENTS,
    VIEW_RESULTS, /* outputs and losses */
    VIEW_KINDS,
    VIEW_ALL = (1u << VIEW_KINDS) - 1
};

typedef struct view {
    void *device; /* what it shows; NULL: nothing */
    unsigned char
        *host; /* what the plugin sees, then as it was fetched, each in `room` bytes */
    uint64_t room;
    uint64_t bytes;
    uint64_t age;    /* of its kind, when fetched */
    size_t onlooker; /* who opened it last */
    int what;        /* VIEW_* */
    bool open;       /* handed out in the event under way */
} view;

typedef struct views {
    view *weights; /* by number of the weight */
    view *grads;
    view **open;
    struct onlooker *onlookers;
    const char
        *who; /* looks, where the host does not call a plugin; "": nobody to be told of */
    size_t nopen, room, nonlookers;
    uint64_t version; /* of the net */
    uint64_t age[VIEW_KINDS];
    uint32_t count; /* of weights */
    uint32_t reserved;
} views;

/* Makes *tensor, if it lies on the run's device, a view on the host through `v`. */
TUTTI_NODISCARD tutti_status view_open(trainer *t, view *v, int what, tutti_tensor *tensor,
                                       tutti_error *err);
void view_fini(view *v);
/* The same for weight k, and for a weight's data as tutti.module/1 gives it; ctx is the trainer. */
TUTTI_NODISCARD tutti_status views_weight(trainer *t, uint32_t k, tutti_weight *w,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status views_module_weight(void *ctx, tutti_tensor *tensor,
                                                 tutti_error *err);
/* tutti.module/1 has written a weight. */
void views_module_wrote(void *ctx);
/* Brings to the device what was written to open views; before it works, and at the `end` of events,
 * when views are closed. */
TUTTI_NODISCARD tutti_status views_settle(trainer *t, bool end, tutti_error *err);
/* The device changes these, 1 << VIEW_* each: what was fetched of them is old. */
void views_age(trainer *t, unsigned kinds);
void views_fini(views *v);

/* ---- upload.c ---- */

enum {
    UPLOAD_COLUMNS = 3 * TUTTI_MAX_COLUMNS
}; /* inputs, targets, what plugins' kernels work on */

typedef struct upload_lane {
    void *host;
    void *device;
    uint64_t room;
    void *copied; /* event: host is free again */
    void *used;   /* event: device is free again */
} upload_lane;

typedef struct uploads {
    upload_lane lanes[UPLOAD_COLUMNS][2];
    uint32_t turn[UPLOAD_COLUMNS];
    void *stream;
} uploads;

/* Copies a column on the host to `to` on the device; nobody waits.  `from` may change at once. */
TUTTI_NODISCARD tutti_status upload_run(uploads *u, const tutti_device *d, uint32_t column,
                                        void *to, const tutti_tensor *from, tutti_error *err);
void uploads_fini(uploads *u, const tutti_device *d);

/* ---- late.c: losses and metrics on a device whose memory is out of the host's reach ---- */

/* Steps that the host may be ahead; fewer where each keeps its outputs for metrics. */
enum { LATE_STEPS = 4, LATE_MEASURED = 2, LATE_TENSORS = 2 + TUTTI_MAX_COLUMNS };

/* A microbatch, on its way to the host; all memory is pinned. */
typedef struct late_part {
    float *losses;     /* of the step's first evaluation and of its last; pinned */
    double weights[2]; /* in these */
    int64_t samples;
    tutti_tensor tensors[LATE_TENSORS]; /* two outputs, then targets */
    uint64_t room[LATE_TENSORS];
    uint32_t noutputs, ntargets;
} late_part;

typedef struct late_step {
    late_part *parts;
    double *scaler; /* TUTTI_SCALER_NUMBERS behind the update; pinned */
    void *done;     /* event */
    uint64_t batch;
    uint32_t counts[2]; /* of parts: in the first evaluation, in the last */
    uint32_t room;
    uint32_t last; /* 1 where there was more than one evaluation, else 0 */
    bool scaled;   /* there is a loss scale on the device */
    bool measured; /* parts have outputs and targets */
} late_step;

typedef struct late_steps {
    late_step steps[LATE_STEPS];
    uint64_t first, next; /* those from first on are under way, next is being made */
} late_steps;

/* One step: for each of its evaluations begin, note each microbatch (its targets before any algorithm, its
 * loss, its outputs), then the losses' sum now; or the step's end: all is logged once it is known, as of its
 * batch, the loss of the first evaluation and metrics of the last. */
TUTTI_NODISCARD tutti_status late_begin(trainer *t, uint32_t microbatches, bool first,
                                        bool measured, tutti_error *err);
TUTTI_NODISCARD tutti_status late_targets(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status late_note(trainer *t, double weight, tutti_error *err);
TUTTI_NODISCARD tutti_status late_outputs(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status late_sum(trainer *t, double *ret_loss, tutti_error *err);
TUTTI_NODISCARD tutti_status late_end(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status late_poll(trainer *t, tutti_error *err);  /* logs what is known */
TUTTI_NODISCARD tutti_status late_flush(trainer *t, tutti_error *err); /* waits, logs all */
void late_fini(late_steps *all, const tutti_device *d);

/* ---- the batch ---- */

typedef struct slot_memory {
    void *data;
    uint64_t room;
    const tutti_device *place; /* NULL: the host's memory */
} slot_memory;

/* A named tensor of the state: a view of somebody's memory, or of `own` once it was replaced. */
typedef struct slot {
    char name[32];
    tutti_tensor now;
    void *own; /* 64-byte aligned */
    uint64_t room;
    view view;          /* of what lies on a device */
    slot_memory two[2]; /* what plugins' kernels fill: one while the other is read */
    uint64_t turn;
} slot;

typedef struct batch {
    slot columns[TUTTI_MAX_COLUMNS];
    uint32_t ncolumns;
    int64_t samples; /* of the first column */
} batch;

void batch_load(batch *b, const tutti_column *names, const tutti_tensor *columns, uint32_t n);
/* Makes `part` the rows [first, first + count) of `whole`. */
void batch_slice(batch *part, const batch *whole, int64_t first, int64_t count);
slot *batch_find(batch *b, const char *name); /* by name or number; NULL when absent */
/* A copy on the host of `t`, which lies here or on `d`. */
TUTTI_NODISCARD tutti_status slot_set(slot *s, const tutti_device *d, const tutti_tensor *t,
                                      tutti_error *err);
/* `bytes` of memory of the slot's own on `place`, of any contents; what was taken the time before
 * stays as it is. */
TUTTI_NODISCARD tutti_status slot_take(slot *s, const tutti_device *place, uint64_t bytes,
                                       void **ret_memory, tutti_error *err);
void batch_fini(batch *b);

/* ---- metrics and loggers ---- */

typedef struct value {
    char *name;
    double value;
} value;

typedef struct value_table {
    value *items;
    uint32_t count;
    uint32_t room;
} value_table;

/* Keeps the values and sends them to every logger; the second as of batch `step`. */
void trainer_log(trainer *t, const tutti_named_value *values, uint32_t n);
void trainer_log_at(trainer *t, const tutti_named_value *values, uint32_t n, uint64_t step);
void trainer_message(trainer *t, int level, const char *component, const char *text);
/* Says what is wrong with the file of measured kernels, if anything is and was not said. */
void trainer_tune_message(trainer *t);
void trainer_hyperparameter(trainer *t, const char *name, const char *json);
void trainer_trace(void *ctx, const tutti_trace *trace);
void value_table_fini(value_table *v);

/* ---- metric objects ---- */

typedef struct metric_set {
    instance **instances;
    const tutti_metric_v1 **tables;
    size_t count;
    bool updated; /* since the last reset */
} metric_set;

TUTTI_NODISCARD tutti_status metric_set_open(trainer *t, metric_set *m, run_parts *parts,
                                             tutti_error *err);
void metric_set_reset(metric_set *m);
TUTTI_NODISCARD tutti_status metric_set_update(metric_set *m, const tutti_metric_input *in,
                                               tutti_error *err);
/* Logs "metrics/<label>/<name>" for each, as of batch `step`. */
void metric_set_log(trainer *t, metric_set *m, const char *label, uint64_t step);
void metric_set_close(metric_set *m);

/* ---- data ---- */

typedef struct source {
    const run_data *spec;
    instance *dataset;
    instance **transforms;
    loader *loader;
    resident *resident; /* makes the batches on the run's device; NULL: the loader does, here */
    metric_set metrics;
    tutti_interval due;  /* of an evaluation */
    char elsewhere[640]; /* why samples are not kept though they might be; "": nothing to say */
} source;

TUTTI_NODISCARD tutti_status source_open(trainer *t, source *s, run_data *spec,
                                         tutti_error *err);
void source_close(source *s);
/* Once loggers are ready. */
void source_announce(trainer *t, const source *s);
/* As the loader's; `b` is loaded unless *ret_samples is 0. */
TUTTI_NODISCARD tutti_status source_seek(source *s, int64_t epoch, int64_t number,
                                         tutti_error *err);
TUTTI_NODISCARD tutti_status source_next(trainer *t, source *s, batch *b, int64_t *ret_samples,
                                         tutti_error *err);

/* ---- learning rate and update ---- */

typedef struct group {
    instance *optimizer;
    const tutti_optimizer_v1 *table;
    const char *match;
    double lr;   /* of now */
    bool kernel; /* it updates weights on the run's device */
} group;

struct updater;

typedef struct stretch {
    struct updater *updater;
    int64_t first; /* in the arena */
    int64_t count;
    uint32_t group;
    int32_t threads;
    tutti_op_call call; /* where a device makes the update */
    tutti_desc desc[TUTTI_OPTIMIZER_MAX_SLOTS + 4];
} stretch;

typedef struct updater {
    group *groups;
    size_t ngroups;
    instance **schedulers;
    size_t nschedulers;
    float *slots[TUTTI_OPTIMIZER_MAX_SLOTS]; /* each as long as the arena */
    uint32_t nslots;
    uint32_t reserved;
    int64_t count;      /* of the arena that the slots fit */
    stretch *stretches; /* one a group that has weights */
    size_t nstretches;
    int32_t *group_of;          /* per weight of the net; -1 for none */
    uint64_t version;           /* of the net that all this fits */
    int64_t step;               /* updates so far */
    const tutti_device *device; /* where the arena and the slots lie; NULL: here */
    double *numbers; /* on the device: TUTTI_UPDATE_NUMBERS a group; scalars have their own */
    uint16_t *low;   /* net_low, where all groups write it; or NULL */
    int32_t low_dtype;
    int32_t reserved2;
    float *staged;  /* on the host, where a device does not run the optimizer's code */
    replays graphs; /* of updates that are no part of another graph */
} updater;

/* The group of the weight at `path`: of `run` the first that matches.  A net_group_fn. */
uint32_t updater_group(const void *run, const char *path);
TUTTI_NODISCARD tutti_status updater_open(trainer *t, tutti_error *err);
/* Fits slots and stretches to the net after a commit; state moves along with its weights. */
TUTTI_NODISCARD tutti_status updater_fit(trainer *t, tutti_error *err);
/* Sets every group's learning rate for the time of now, or for t->scheduled again. */
TUTTI_NODISCARD tutti_status updater_schedule(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status updater_reschedule(trainer *t, tutti_error *err);
/* sweep.c: one update. */
TUTTI_NODISCARD tutti_status updater_step(trainer *t, tutti_error *err);
/* The same in three parts, where it is part of a merged run: before that, in it, and after it went well. */
TUTTI_NODISCARD tutti_status updater_begin(trainer *t, tutti_error *err);
plan_tail updater_tail(trainer *t);
void updater_end(trainer *t);
bool updater_merges(const trainer *t); /* whether it may be */
/* Whether kernels on the device read there all that changes. */
bool updater_reads(const trainer *t);
void updater_close(updater *u);

/* ---- scalars.c: the numbers of a step, where a device keeps them ---- */

enum {
    SCALARS_UNSCALE,
    SCALARS_SCALE_BY,
    SCALARS_LOSS_SCALE,
    SCALARS_NEXT_UPDATE,
    SCALARS_OPS
};

typedef struct scalar_op {
    const tutti_kernel *kernel;
    void *state;
    tutti_op_call call;
    tutti_desc in[2];
    tutti_desc out[3];
} scalar_op;

typedef struct scalars {
    const tutti_device *device;
    double *scaler;  /* TUTTI_SCALER_NUMBERS; the block begins here */
    double *numbers; /* TUTTI_UPDATE_NUMBERS a group */
    double *rates;   /* one a group */
    double *weight;  /* of the microbatch's loss */
    float *factor;   /* of gradients */
    double *sent;    /* on the host: rates that are there */
    double weight_now;
    scalar_op ops[SCALARS_OPS];
    const void *asker; /* who writes the factor in the event under way, while `asked` */
    bool tried;
    bool on;      /* the device keeps them; else the host does, and waits where it must */
    bool settled; /* the device has what the host had */
    bool asked;
    bool pending; /* the gradients are not multiplied yet */
    bool counted; /* the step has had its next_update */
} scalars;

/* Where the run's device has memory of its own: takes it there; `on` says whether it can be used. */
TUTTI_NODISCARD tutti_status scalars_open(trainer *t, tutti_error *err);
void scalars_fini(scalars *s);
/* All others are for `on`; none waits but scalars_fetch.
 * Before an update: the rates are there, and the update will multiply by the factor. */
TUTTI_NODISCARD tutti_status scalars_prepare(trainer *t, tutti_error *err);
/* *scale, on the device, becomes the loss scale for a microbatch of this weight. */
TUTTI_NODISCARD tutti_status scalars_loss_scale(trainer *t, double weight, float *scale,
                                                tutti_error *err);
/* The loss scale is taken back from the gradients, and what is found in them noted. */
TUTTI_NODISCARD tutti_status scalars_unscale(trainer *t, tutti_error *err);
/* Nothing has been found so far. */
TUTTI_NODISCARD tutti_status scalars_forget(trainer *t, tutti_error *err);
/* The numbers of an update; 0 groups: the step ends without one. */
TUTTI_NODISCARD tutti_status scalars_next_update(trainer *t, size_t ngroups, tutti_error *err);
/* The host's loss scale and count of updates become the device's; ret_scaler may be NULL. */
TUTTI_NODISCARD tutti_status scalars_fetch(trainer *t, double *ret_scaler, tutti_error *err);
/* Where a plugin writes the gradients' factor; NULL: they are scaled where they are. */
float *scalars_ask_factor(trainer *t);
void scalars_end_event(trainer *t);
/* The gradients become what the factor makes of them, before anyone looks. */
TUTTI_NODISCARD tutti_status scalars_apply_factor(trainer *t, tutti_error *err);

/* ---- device.c ---- */

TUTTI_NODISCARD tutti_status trainer_open_device(trainer *t, tutti_error *err);
const tutti_device *trainer_device(const trainer *t); /* NULL: the host's own */
/* Whether the host cannot reach weights and results. */
bool trainer_is_remote(const trainer *t);
/* After each update: what the device has gathered goes to work. */
TUTTI_NODISCARD tutti_status trainer_step_device(trainer *t, tutti_error *err);

/* ---- precision ---- */

/* The number of a run file's word: NET_FP32 ... */
int precision_of(const char *name);

/* Says what the run file's precision depends on. */
void precision_announce(trainer *t);

/* Multiplies the loss before the backward pass, and takes that back from the gradients before anything
 * looks at them: GradScaler.  Without it (all precisions but amp_fp16) the scale is 1. */
typedef struct loss_scaler {
    double scale; /* these two are what a checkpoint keeps */
    double clean; /* updates since the last change */
    bool on;
    bool found; /* the gradients of this batch are not finite, as far as the host knows */
} loss_scaler;

void scaler_init(loss_scaler *s, int precision);
double scaler_scale(const loss_scaler *s);
/* Once the gradients are complete, before AFTER_TRAIN_BATCH, so that clipping sees true ones. */
TUTTI_NODISCARD tutti_status scaler_unscale(trainer *t, tutti_error *err);
/* Whether the update is left out; asked between unscale and update. */
bool scaler_skips(const loss_scaler *s);
/* Once a batch, after its update or the lack of it: a larger or a smaller scale. */
TUTTI_NODISCARD tutti_status scaler_update(trainer *t, tutti_error *err);
/* Says that batch `step` had no update, and the scale since. */
void scaler_tell(trainer *t, uint64_t step, double scale);
tutti_tensor scaler_state(loss_scaler *s); /* a view for checkpoints: f64 (2) */

/* ---- services ---- */

typedef struct log_service {
    tutti_log_v1 table;
    trainer *trainer;
    instance *instance;
    struct log_service *next;
} log_service;

/* device_view.c: tutti.device_view/1 of a plugin. */
enum { PEEKS = 8 }; /* under way at a time */

typedef struct device_view {
    tutti_device_view_v1 table;
    trainer *trainer;
    const tutti_device *place; /* where its kernels run; NULL: on the host */
    unsigned char *peeked;     /* pinned: TUTTI_PEEK_BYTES for each */
    void *came[PEEKS];         /* events */
    uint64_t npeeks;
} device_view;

void device_view_init(device_view *v, trainer *t, const tutti_device *place);
void device_view_fini(device_view *v);

/* kernels.c: tutti.kernel/1 of a plugin on a device whose memory is its own; NULL elsewhere.  It finds
 * what runs there, and all of it once the plugin has asked for tutti.device_view/1.  Kernels' code
 * is kept to the end of the run. */
typedef struct plugin_kernels plugin_kernels;
const void *kernels_for(trainer *t, instance *i);
/* Whether that is a device, and all of them run there. */
bool kernels_run_there(trainer *t, instance *i);
/* Its tutti.device_view/1; NULL: out of memory. */
const void *kernels_view(trainer *t, instance *i);
void kernels_fini(trainer *t);

/* Answers a plugin's host->query.  ctx is the trainer. */
const void *trainer_service(void *ctx, instance *i, const char *interface_id);

/* ---- all of it ---- */

enum { PHASE_IDLE, PHASE_BATCH, PHASE_MICROBATCH, PHASE_EVAL };

struct trainer {
    run_file *run;
    registry *registry;
    const tutti_op *const *ops; /* borrowed; a NULL ends them */
    engine *engine;
    backend device;
    net *net;
    char folder[512]; /* absolute: <working directory>/runs/<name> */

    instance *model;
    const tutti_model_v1 *model_table;
    source train;
    source *evals;
    size_t nevals;
    updater update;
    loss_scaler scaler;
    scalars scalars;
    instance **participants; /* loggers, callbacks, algorithms, passes */
    size_t nparticipants;
    size_t nloggers;   /* the first so many participants */
    instance *wrapper; /* the participant that makes the update, or NULL */
    const tutti_optimizer_wrapper_v1 *wrapper_table;
    bool wrapper_looks; /* it reads the loss of an evaluation */

    tutti_timestamp time;
    tutti_timestamp previous;
    tutti_timestamp eval_time; /* of the evaluation or prediction under way */
    tutti_timestamp predict_time;
    tutti_timestamp scheduled; /* when the learning rates were last set */
    bool has_previous;
    bool stopped;     /* by stop_training */
    bool initialised; /* INIT has been fired: loggers are ready */
    bool begun;       /* and the checkpoint, if any, loaded */
    tutti_time max_duration;
    tutti_time planned; /* max_duration as it was before anything stopped training */
    uint64_t seed;
    int threads;
    int phase;
    int64_t clock_ns; /* when the present stretch of training time began */

    batch whole;
    batch micro;
    batch eval_batch;
    int64_t microbatch_size; /* samples at a time; "auto" may make it smaller */
    uint32_t microbatch;     /* index of the current one */
    uint32_t reserved;
    slot outputs[2]; /* views of the plan's results; at most two are named */
    uint32_t noutputs;
    float loss_value;
    slot loss;
    view forward_views[16]; /* of outputs that tutti.train/1 has given */
    views views;
    uploads uploads;
    late_steps late;
    plan *plan; /* of the forward pass under way */
    plan *loss_plan;
    float loss_scale;
    bool updated; /* the update was part of the last segment */
    tutti_step step;
    const char *eval_label;

    value_table values;
    log_service *logs;
    plugin_kernels *kernels;
    void (*message)(void *ctx, int level, const char *component, const char *text);
    void *message_ctx;

    profiler *profiler; /* NULL when the run file has none */
    trace_file **traces;
    size_t ntraces;
    bool observed; /* traces and profiler are at work */

    tutti_state_v1 state_service;
    tutti_metrics_v1 metrics_service;
    tutti_weights_v1 weights_service;
    tutti_train_v1 train_service;
    tutti_checkpoint_v1 checkpoint_service;
};

void trainer_services_init(trainer *t);
TUTTI_NODISCARD tutti_status trainer_open(trainer *t, run_part *part, instance **ret_instance,
                                          tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_event(trainer *t, int32_t event, tutti_error *err);
/* The batch that `get` and `set` of the state mean now. */
batch *trainer_batch(trainer *t);
/* What the state calls `name`; NULL and E_NOTFOUND when there is none now. */
slot *trainer_slot(trainer *t, const char *name, tutti_error *err);
/* Whether a plan computes it, so that it stays where it is. */
bool trainer_computes(const trainer *t, const slot *s);
/* Weight k where it is, with its group. */
TUTTI_NODISCARD tutti_status trainer_weight(trainer *t, uint32_t k, tutti_weight *ret_weight,
                                            tutti_error *err);
/* What `who` (as views.who) sees of a column, on the host. */
TUTTI_NODISCARD tutti_status trainer_see_column(trainer *t, const char *who, slot *s,
                                                tutti_tensor *ret_column, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_request(trainer *t, int kind, batch *b,
                                             plan_request *ret_request, tutti_error *err);
/* Points the plan's inputs, or targets, at the batch; copies what is not aligned or not there. */
TUTTI_NODISCARD tutti_status trainer_bind_inputs(trainer *t, plan *p, batch *b,
                                                 tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_bind_targets(trainer *t, plan *p, batch *b,
                                                  tutti_error *err);
/* A step is SEGMENT_FORWARD, SEGMENT_LOSS, SEGMENT_BACKWARD and this, with events in between. */
enum { SEGMENT_UPDATE = SEGMENT_COUNT };
/* The last segment that runs as one with `first`, because nobody hears the events in between; `last`:
 * of the batch's last microbatch. */
int trainer_merges(const trainer *t, int first, bool last);
/* One segment, with what open views have for it. */
TUTTI_NODISCARD tutti_status trainer_run(trainer *t, plan *p, int segment, float loss_scale,
                                         tutti_error *err);
/* The loss of now; waits for it. */
TUTTI_NODISCARD tutti_status trainer_read_loss(trainer *t, double *ret_loss, tutti_error *err);
/* What `who` (as views.who) sees of the outputs, on the host. */
TUTTI_NODISCARD tutti_status trainer_see_outputs(trainer *t, const char *who,
                                                 tutti_tensor *ret_outputs, tutti_error *err);
/* Takes up the plan's outputs and loss into the state. */
void trainer_publish(trainer *t, plan *p);
bool trainer_done(const trainer *t);
/* Whether samples are sequences of tokens: the column "input" holds whole numbers in a row. */
bool trainer_has_tokens(const trainer *t);

/* observe.c: handlers, traces and profiler.  Files are made by trainer_observe, when training begins. */
TUTTI_NODISCARD tutti_status trainer_bind_handlers(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_open_profiler(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_observe(trainer *t, tutti_error *err);
void trainer_end_observation(trainer *t);
void trainer_free_observers(trainer *t);
int64_t now_ns(void);

/* All that comes before the first event of fit, eval or predict: INIT, the checkpoint, the load
 * events.  `resume` as in trainer_fit. */
TUTTI_NODISCARD tutti_status trainer_begin(trainer *t, const char *resume, tutti_error *err);
/* With microbatch_size "auto", after `err` says that memory is out: halves it, clears `err`, and says
 * so; false when it cannot. */
bool trainer_halve(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_step_batch(trainer *t, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_evaluate_due(trainer *t, int32_t event, tutti_error *err);

TUTTI_NODISCARD tutti_status trainer_save(trainer *t, const char *path, tutti_error *err);
TUTTI_NODISCARD tutti_status trainer_load(trainer *t, const char *path, tutti_error *err);
/* The first participant that can save, or NULL. */
const tutti_saver_v1 *trainer_saver(trainer *t, void **ret_self);

#endif
