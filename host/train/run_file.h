/* run_file.h - a run as its JSON file describes it, checked and complete. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RUN_FILE_H
#define HOST_TRAIN_RUN_FILE_H

#include "base/faults.h"
#include "engine/binding.h"
#include "engine/profiler.h"
#include "engine/trace.h"
#include "plugin/registry.h"
#include "tutti_host/device.h"

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

/* Whether all samples of a data set are read once and kept. */
enum { RUN_RESIDENT_NO, RUN_RESIDENT_YES, RUN_RESIDENT_AUTO };

/* Where samples come from and how they become batches. */
typedef struct run_data {
    const char *label; /* "train", or an evaluation's own */
    run_part dataset;
    run_parts transforms;
    run_parts metrics;
    int64_t batch_size;
    int64_t subset_num_batches; /* -1: all */
    uint32_t workers;
    uint32_t prefetch;
    bool shuffle;
    bool drop_last;
    int resident;        /* RUN_RESIDENT_* */
    tutti_time interval; /* of an evaluation */
} run_data;

/* Weights whose path matches `match` (a shell pattern) and no earlier group's. */
typedef struct run_group {
    const char *match; /* "*" for the last */
    run_part part;     /* the optimizer with this group's settings */
} run_group;

/* Number `index` of a backend's devices; without an object the host's own, "cpu" or "cuda". */
typedef struct run_device {
    run_part part;
    uint32_t index;
    tutti_cuda_settings cuda; /* for "cuda" */
    bool automatic; /* cuda:0 where that can be had, else cpu; the name tells once it is open */
} run_device;

enum { RUN_MICROBATCH_AUTO = -1 };

typedef struct run_file {
    json_doc *doc;
    char *text; /* the run as compact JSON, overrides applied */
    const char *name;
    uint64_t seed;
    run_part model;
    run_data train;
    run_data *evals;
    size_t nevals;
    run_group *groups; /* at least one */
    size_t ngroups;
    run_parts schedulers;
    run_parts algorithms;
    run_parts callbacks;
    run_parts loggers;
    run_parts passes;
    binding_list handlers;
    trace_specs traces;
    profiler_options profiler;
    bool profiled;
    tutti_time max_duration;
    tutti_time iteration_length; /* in ep or tok; unit NONE: no iterations */
    bool step_schedulers_every_batch;
    double scale_schedule_ratio;
    char *load_weights;      /* a .safetensors file, or NULL */
    int64_t microbatch_size; /* 0: the whole batch; RUN_MICROBATCH_AUTO: as many as fit */
    const char *precision;   /* "fp32" */
    const char *recompute;   /* "cheap" */
    run_device device;
    int threads; /* 0: as many as this process may use */
} run_file;

/* Reads and checks a run file; `overrides` are "path=value" texts, NULL-terminated, or NULL.  Everything
 * wrong goes to `faults`; then E_ARG is returned and *ret_run stays untouched.  [control] */
TUTTI_NODISCARD tutti_status run_file_read(const char *path, const char *const *overrides,
                                           registry *r, run_file **ret_run, faults *faults);
/* The same from text in memory; `folder` is where relative paths count from. */
TUTTI_NODISCARD tutti_status run_file_parse(const char *name, const char *text,
                                            const char *folder, const char *const *overrides,
                                            registry *r, run_file **ret_run, faults *faults);
void run_file_free(run_file *run); /* NULL is allowed */

/* run_device.c: its device. */
void run_device_read(run_file *run, registry *r, const char *folder, const json_node *root,
                     faults *f);

/* run_observers.c: its handlers, traces and profiler. */
void run_observers_read(run_file *run, registry *r, const json_node *root, faults *f);
void run_observers_free(run_file *run);

#endif
