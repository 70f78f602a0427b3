/* run_check.h - a made-up run for the tests of callbacks and loggers: its clocks and services. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include "kernel_check.h"
#include "plugin_check.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/logger.h"
#include "tutti/metrics.h"
#include "tutti/optimizer.h"
#include "tutti/state.h"
#include "tutti/weights.h"
#include "view_check.h"

#include <stdio.h>

enum { STAGE_VALUES = 64, STAGE_WEIGHTS = 4, STAGE_TENSORS = 4 };

/* Not copyable: its services point into it. */
typedef struct stage {
    tutti_timestamp time;
    tutti_timestamp eval_time;
    tutti_time max;
    uint64_t seed;
    uint32_t microbatch;
    uint32_t nvalues;
    int64_t len;       /* batches in an epoch */
    const char *label; /* of the evaluation under way */
    int32_t cut;       /* it is */
    int32_t follows;   /* a process that called `own` with: */
    char own[600];
    float loss;
    uint32_t nlogged; /* calls of metrics->log */
    struct {
        char name[64];
        double value;
    } values[STAGE_VALUES];
    struct {
        const char *name;
        tutti_tensor tensor;
    } tensors[STAGE_TENSORS]; /* beside "loss" */
    uint32_t ntensors;
    uint32_t ntables, nimages; /* calls of metrics->log_table and log_images */
    char table[4096]; /* the last one: its name, its columns, then its rows, a line each */
    char images
        [4096]; /* the last ones: their name, their shape and their numbers, then a line for each mask */
    double lr[2];
    tutti_weight weight_list[STAGE_WEIGHTS];
    uint32_t nweights;
#if TUTTI_USE_MINOR >= 1
    tutti_slot slot_list[STAGE_WEIGHTS][TUTTI_OPTIMIZER_MAX_SLOTS];
    uint32_t nslots[STAGE_WEIGHTS];
    int32_t slots_are_divided; /* among processes */
#endif
    uint32_t nhyper;   /* calls of metrics->hyperparameter */
    char hyper[128];   /* the last one: "name=json" */
    char stopped[256]; /* reason of the last stop */
    char noted[1024];  /* the last message */
    int32_t noted_level;
    int32_t saves;
    int32_t save_fails;
    int32_t reserved;
    char run_folder[256];
    tutti_state_v1 state;
    tutti_metrics_v1 metrics;
    tutti_weights_v1 weights;
    tutti_checkpoint_v1 checkpoint;
    tutti_log_v1 log;
    view_check view;
    service services[10];
} stage;

static inline double stage_elapsed(void *ctx)
{
    const stage *s = (const stage *)ctx;
    return s->max.count
               ? (double)tutti_timestamp_get(&s->time, s->max.unit) / (double)s->max.count
               : -1.0;
}

static inline int64_t stage_len(void *ctx)
{
    return ((const stage *)ctx)->len;
}

static inline const char *stage_label(void *ctx)
{
    return ((const stage *)ctx)->label;
}

static inline const tutti_timestamp *stage_previous(void *ctx)
{
    (void)ctx;
    return NULL;
}

static inline int32_t stage_cut(void *ctx)
{
    return ((const stage *)ctx)->cut;
}

static inline tutti_status stage_own(void *ctx, const char *path, tutti_error *err)
{
    stage *s = ctx;
    (void)snprintf(s->own, sizeof s->own, "%s", path);
    (void)err;
    return TUTTI_OK;
}

static inline int32_t stage_owns(void *ctx, const char *path)
{
    const stage *s = ctx;
    return s->follows && strcmp(s->own, path) == 0;
}

static inline tutti_status stage_get(void *ctx, const char *name, tutti_tensor *ret,
                                     tutti_error *err)
{
    stage *s = (stage *)ctx;
    for (uint32_t k = 0; k < s->ntensors; k++)
        if (strcmp(name, s->tensors[k].name) == 0) {
            *ret = s->tensors[k].tensor;
            return TUTTI_OK;
        }
    if (strcmp(name, "loss") != 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "the state has no %s now", name);
    memset(ret, 0, sizeof *ret);
    ret->data = &s->loss;
    ret->desc.dtype = TUTTI_F32;
    ret->device = TUTTI_DEVICE_CPU;
    return TUTTI_OK;
}

/* Tensor `name` of the state from now on: dense, of the caller's memory. */
static inline void stage_tensor(stage *s, const char *name, void *data, tutti_desc desc)
{
    uint32_t k = 0;
    while (k < s->ntensors && strcmp(name, s->tensors[k].name) != 0)
        k++;
    ck_assert_uint_lt(k, STAGE_TENSORS);
    s->ntensors += k == s->ntensors;
    s->tensors[k].name = name;
    s->tensors[k].tensor = (tutti_tensor){data, desc, TUTTI_DEVICE_CPU, 0};
}

static inline tutti_status stage_set(void *ctx, const char *name, const tutti_tensor *t,
                                     tutti_error *err)
{
    (void)ctx;
    (void)t;
    return tutti_fail(err, TUTTI_E_STATE, "%s cannot be set here", name);
}

static inline void stage_stop(void *ctx, const char *reason)
{
    stage *s = (stage *)ctx;
    (void)snprintf(s->stopped, sizeof s->stopped, "%s", reason);
}

static inline void stage_value(stage *s, const char *name, double value)
{
    uint32_t k = 0;
    while (k < s->nvalues && strcmp(s->values[k].name, name) != 0)
        k++;
    ck_assert_uint_lt(k, STAGE_VALUES);
    if (k == s->nvalues)
        s->nvalues++;
    (void)snprintf(s->values[k].name, sizeof s->values[k].name, "%s", name);
    s->values[k].value = value;
}

static inline void stage_log(void *ctx, const tutti_named_value *values, uint32_t n)
{
    stage *s = (stage *)ctx;
    s->nlogged++;
    for (uint32_t k = 0; k < n; k++)
        stage_value(s, values[k].name, values[k].value);
}

static inline tutti_status stage_metric(void *ctx, const char *name, double *ret,
                                        tutti_error *err)
{
    const stage *s = (const stage *)ctx;
    for (uint32_t k = 0; k < s->nvalues; k++)
        if (strcmp(s->values[k].name, name) == 0) {
            *ret = s->values[k].value;
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "nothing has been logged as %s", name);
}

static inline const char *stage_name_at(void *ctx, uint32_t k)
{
    const stage *s = (const stage *)ctx;
    return k < s->nvalues ? s->values[k].name : NULL;
}

static inline void stage_hyperparameter(void *ctx, const char *name, const char *json)
{
    stage *s = (stage *)ctx;
    s->nhyper++;
    (void)snprintf(s->hyper, sizeof s->hyper, "%s=%s", name, json);
}

#if TUTTI_USE_MINOR >= 1
/* The table of a test: two rows under "sample" and "said". */
static inline tutti_table stage_a_table(const char *name)
{
    static const char *const columns[] = {"sample", "said"};
    static const char *const cells[] = {"0", "\"a \\\"b\\\"\"", "1", "[1,2.5]"};
    return (tutti_table){(uint32_t)sizeof(tutti_table), 2, name, columns, cells, 2};
}

static inline tutti_status stage_log_table(void *ctx, const tutti_table *t, tutti_error *err)
{
    stage *s = (stage *)ctx;
    size_t used = (size_t)snprintf(s->table, sizeof s->table, "%s\n", t->name);
    (void)err;
    s->ntables++;
    for (uint64_t k = 0; k < (t->nrows + 1) * t->ncolumns; k++) {
        const uint64_t c = k % t->ncolumns;
        used += (size_t)snprintf(s->table + used, sizeof s->table - used, "%s%s",
                                 k < t->ncolumns ? t->columns[c] : t->cells[k - t->ncolumns],
                                 c + 1 == t->ncolumns ? "\n" : " | ");
        ck_assert_uint_lt(used, sizeof s->table);
    }
    return TUTTI_OK;
}
#endif

#if TUTTI_USE_MINOR >= 1
TUTTI_PRINTF(3, 4)
static inline void stage_add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(text + used, size - used, format, args), (int)(size - used));
    va_end(args);
}

static inline tutti_status stage_log_images(void *ctx, const tutti_images *images,
                                            tutti_error *err)
{
    stage *s = (stage *)ctx;
    const tutti_tensor *p = images->pixels;
    const int64_t *dim = p->desc.dim;
    (void)err;
    s->nimages++;
    s->images[0] = '\0';
    stage_add(s->images, sizeof s->images, "%s (%d,%d,%d,%d):", images->name, (int)dim[0],
              (int)dim[1], (int)dim[2], (int)dim[3]);
    for (int64_t k = 0; k < tutti_numel(&p->desc); k++)
        stage_add(s->images, sizeof s->images, " %g",
                  p->desc.dtype == TUTTI_U8 ? (double)((const uint8_t *)p->data)[k]
                                            : (double)((const float *)p->data)[k]);
    stage_add(s->images, sizeof s->images, "\n");
    for (uint32_t m = 0; m < images->nmasks; m++) {
        stage_add(s->images, sizeof s->images, "%s:", images->masks[m].name);
        for (int64_t k = 0; k < dim[0] * dim[1] * dim[2]; k++)
            stage_add(s->images, sizeof s->images, " %d", (int)images->masks[m].map[k]);
        stage_add(s->images, sizeof s->images, "\n");
    }
    for (int64_t k = 0; images->predicted && images->expected && k < dim[0]; k++)
        stage_add(s->images, sizeof s->images, "%s%d for %d%s",
                  k ? ", " : "classes: ", (int)images->predicted[k], (int)images->expected[k],
                  k + 1 == dim[0] ? "\n" : "");
    return TUTTI_OK;
}
#endif

static inline uint32_t stage_weight_count(void *ctx)
{
    return ((const stage *)ctx)->nweights;
}

static inline tutti_status stage_weight_at(void *ctx, uint32_t k, tutti_weight *ret,
                                           tutti_error *err)
{
    (void)err;
    *ret = ((const stage *)ctx)->weight_list[k];
    return TUTTI_OK;
}

static inline uint64_t stage_weight_version(void *ctx)
{
    (void)ctx;
    return 1;
}

/* A weight of n numbers; without `grad` a buffer. */
static inline void stage_weight(stage *s, const char *path, int64_t n, float *data, float *grad)
{
    ck_assert_uint_lt(s->nweights, STAGE_WEIGHTS);
    s->weight_list[s->nweights++] =
        (tutti_weight){.struct_size = (uint32_t)sizeof(tutti_weight),
                       .path = path,
                       .data = {data, {{n}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0},
                       .grad = grad};
}

#if TUTTI_USE_MINOR >= 1
static inline uint32_t stage_slots(void *ctx, uint32_t k)
{
    return ((const stage *)ctx)->nslots[k];
}

static inline tutti_status stage_slot_at(void *ctx, uint32_t k, uint32_t slot, tutti_slot *ret,
                                         tutti_error *err)
{
    const stage *s = (const stage *)ctx;
    ck_assert_uint_lt(slot, s->nslots[k]);
    if (s->slots_are_divided)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the state is divided");
    *ret = s->slot_list[k][slot];
    return TUTTI_OK;
}

/* Another slot of the k-th weight: as many numbers. */
static inline void stage_slot(stage *s, uint32_t k, const char *name, float *data)
{
    ck_assert_uint_lt(s->nslots[k], TUTTI_OPTIMIZER_MAX_SLOTS);
    s->slot_list[k][s->nslots[k]++] =
        (tutti_slot){.struct_size = (uint32_t)sizeof(tutti_slot),
                     .name = name,
                     .data = {data, s->weight_list[k].data.desc, TUTTI_DEVICE_CPU, 0}};
}
#endif

static inline uint32_t stage_groups(void *ctx)
{
    (void)ctx;
    return 2;
}

static inline const char *stage_optimizer(void *ctx)
{
    (void)ctx;
    return "sgd";
}

static inline double stage_lr(void *ctx, uint32_t group)
{
    return ((const stage *)ctx)->lr[group];
}

/* The checkpoint is a short text; its folders are made, as the host does. */
static inline tutti_status stage_save(void *ctx, const char *path, tutti_error *err)
{
    stage *s = (stage *)ctx;
    char command[900];
    if (s->save_fails)
        return tutti_fail(err, TUTTI_E_IO, "%s: No space left on device", path);
    (void)snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && echo x > '%s'",
                   path, path);
    ck_assert_int_eq(system(command), 0);
    s->saves++;
    return TUTTI_OK;
}

static inline int32_t stage_due(void *ctx, int32_t event)
{
    (void)ctx;
    (void)event;
    return 0;
}

static inline const char *stage_run_name(void *ctx)
{
    (void)ctx;
    return "trial";
}

static inline const char *stage_run_folder(void *ctx)
{
    return ((const stage *)ctx)->run_folder;
}

static inline void stage_note(void *ctx, int32_t level, const char *text)
{
    stage *s = (stage *)ctx;
    s->noted_level = level;
    (void)snprintf(s->noted, sizeof s->noted, "%s", text);
}

/* A run of 3 epochs of 4 batches of 10 samples, at its very start; a fresh folder for its files. */
static inline void stage_init(stage *s)
{
    memset(s, 0, sizeof *s);
    s->time.struct_size = s->eval_time.struct_size = (uint32_t)sizeof s->time;
    s->max.count = 3;
    s->max.unit = TUTTI_UNIT_EPOCH;
    s->len = 4;
    (void)snprintf(s->run_folder, sizeof s->run_folder, "/tmp/tutti_run_check.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(s->run_folder));
    s->state = (tutti_state_v1){.struct_size = (uint32_t)sizeof s->state,
                                .ctx = s,
                                .time = &s->time,
                                .eval_time = &s->eval_time,
                                .max_duration = &s->max,
                                .seed = &s->seed,
                                .elapsed = stage_elapsed,
                                .dataloader_len = stage_len,
                                .eval_label = stage_label,
                                .get = stage_get,
                                .set = stage_set,
                                .stop_training = stage_stop,
                                .microbatch = &s->microbatch,
                                .previous = stage_previous,
                                .run_name = stage_run_name};
    s->metrics = (tutti_metrics_v1){.struct_size = (uint32_t)sizeof s->metrics,
                                    .ctx = s,
                                    .log = stage_log,
                                    .get = stage_metric,
                                    .name_at = stage_name_at,
                                    .hyperparameter = stage_hyperparameter};
#if TUTTI_USE_MINOR >= 2
    s->state.eval_cut = stage_cut;
#endif
#if TUTTI_USE_MINOR >= 1
    s->metrics.log_table = stage_log_table;
    s->metrics.log_images = stage_log_images;
#endif
    s->weights = (tutti_weights_v1){.struct_size = (uint32_t)sizeof s->weights,
                                    .ctx = s,
                                    .count = stage_weight_count,
                                    .at = stage_weight_at,
                                    .describe = stage_weight_at,
                                    .version = stage_weight_version,
                                    .groups = stage_groups,
                                    .optimizer = stage_optimizer,
                                    .lr = stage_lr};
#if TUTTI_USE_MINOR >= 1
    s->weights.slots = stage_slots;
    s->weights.slot = stage_slot_at;
#endif
    s->checkpoint = (tutti_checkpoint_v1){.struct_size = (uint32_t)sizeof s->checkpoint,
                                          .ctx = s,
                                          .due = stage_due,
                                          .save = stage_save,
                                          .run_name = stage_run_name,
                                          .run_folder = stage_run_folder};
#if TUTTI_USE_MINOR >= 2
    s->checkpoint.own = stage_own;
    s->checkpoint.owns = stage_owns;
#endif
    s->log =
        (tutti_log_v1){.struct_size = (uint32_t)sizeof s->log, .ctx = s, .write = stage_note};
    const service all[] = {{TUTTI_STATE_V1, &s->state},
                           {TUTTI_METRICS_V1, &s->metrics},
                           {TUTTI_WEIGHTS_V1, &s->weights},
                           {TUTTI_CHECKPOINT_V1, &s->checkpoint},
                           {TUTTI_LOG_V1, &s->log},
                           {TUTTI_DEVICE_VIEW_V1, &s->view.table},
                           {NULL, NULL}};
    view_check_init(&s->view, &s->state, &s->weights);
    memcpy(s->services, all, sizeof all);
}

/* The kernels of the plugin under test. */
#define stage_kernels(s)                                                                       \
    ((s)->services[6] = (service){                                                             \
         TUTTI_KERNEL_V1, kernel_check_open(PLUGIN_PATH, PLUGIN_FOLDER "/plugin.json")})

static inline void stage_fini(stage *s)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", s->run_folder);
    ck_assert_int_eq(system(command), 0);
}

/* The subject hears `event` at the present time. */
static inline tutti_status stage_event(stage *s, subject *who, int32_t event, tutti_error *err)
{
    static const char *const names[] = {
#define TUTTI_X(name, value, canonical, side) value,
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    const tutti_event e = {(uint32_t)sizeof e,      event,    names[event],
                           (uint64_t)s->time.batch, &s->time, &s->eval_time};
    return who->calls->run_event(who->self, &e, err);
}

#define ck_assert_hears(stage, who, event)                                                     \
    do {                                                                                       \
        tutti_error err_ = TUTTI_ERROR_INIT;                                                   \
        ck_assert_ok(stage_event(stage, who, event, &err_), err_);                             \
    } while (0)

/* One batch of 10 samples and 20 ms has been trained on. */
static inline void stage_next_batch(stage *s)
{
    s->time.batch++;
    s->time.batch_in_epoch++;
    s->time.sample += 10;
    s->time.sample_in_epoch += 10;
    s->time.total_ns += 20000000;
}

static inline void stage_next_epoch(stage *s)
{
    s->time.epoch++;
    s->time.batch_in_epoch = 0;
    s->time.sample_in_epoch = 0;
}

/* The file under the run's folder, as text; "" when it is not there. */
static inline const char *stage_file(const stage *s, const char *name, char *text, size_t size)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", s->run_folder, name);
    FILE *in = fopen(path, "r");
    const size_t n = in ? fread(text, 1, size - 1, in) : 0;
    text[n] = '\0';
    if (in)
        (void)fclose(in);
    return text;
}

#endif
