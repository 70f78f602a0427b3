/* run_check.h - a made-up run for the tests of callbacks and loggers: its clocks and services. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include "kernel_check.h"
#include "run_metrics_check.h"
#include "run_state_check.h"
#include "run_weights_check.h"

#include <stdio.h>
#include <stdlib.h>

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
    s->tables.state = (tutti_state_v1){.struct_size = (uint32_t)sizeof s->tables.state,
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
    s->tables.metrics = (tutti_metrics_v1){.struct_size = (uint32_t)sizeof s->tables.metrics,
                                           .ctx = s,
                                           .log = stage_log,
                                           .get = stage_metric,
                                           .name_at = stage_name_at,
                                           .hyperparameter = stage_hyperparameter};
#if TUTTI_USE_MINOR >= 2
    s->tables.state.eval_cut = stage_cut;
#endif
#if TUTTI_USE_MINOR >= 1
    s->tables.metrics.log_table = stage_log_table;
    s->tables.metrics.log_images = stage_log_images;
#endif
    s->tables.weights = (tutti_weights_v1){.struct_size = (uint32_t)sizeof s->tables.weights,
                                           .ctx = s,
                                           .count = stage_weight_count,
                                           .at = stage_weight_at,
                                           .describe = stage_weight_at,
                                           .version = stage_weight_version,
                                           .groups = stage_groups,
                                           .optimizer = stage_optimizer,
                                           .lr = stage_lr};
#if TUTTI_USE_MINOR >= 1
    s->tables.weights.slots = stage_slots;
    s->tables.weights.slot = stage_slot_at;
#endif
    s->tables.checkpoint =
        (tutti_checkpoint_v1){.struct_size = (uint32_t)sizeof s->tables.checkpoint,
                              .ctx = s,
                              .due = stage_due,
                              .save = stage_save,
                              .run_name = stage_run_name,
                              .run_folder = stage_run_folder};
#if TUTTI_USE_MINOR >= 2
    s->tables.checkpoint.own = stage_own;
    s->tables.checkpoint.owns = stage_owns;
#endif
    s->tables.log = (tutti_log_v1){
        .struct_size = (uint32_t)sizeof s->tables.log, .ctx = s, .write = stage_note};
    const service all[] = {{TUTTI_STATE_V1, &s->tables.state},
                           {TUTTI_METRICS_V1, &s->tables.metrics},
                           {TUTTI_WEIGHTS_V1, &s->tables.weights},
                           {TUTTI_CHECKPOINT_V1, &s->tables.checkpoint},
                           {TUTTI_LOG_V1, &s->tables.log},
                           {TUTTI_DEVICE_VIEW_V1, &s->tables.view.table},
                           {NULL, NULL}};
    view_check_init(&s->tables.view, &s->tables.state, &s->tables.weights);
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
