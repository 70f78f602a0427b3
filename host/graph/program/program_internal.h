/* program_internal.h - what building and running a program share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_PROGRAM_INTERNAL_H
#define HOST_GRAPH_PROGRAM_PROGRAM_INTERNAL_H

#include "graph/ir/pool.h"
#include "graph/program/parts.h"
#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"
#include "graph/runtime/graph_capture.h"
#include "graph/runtime/pointwise_kernel.h"

enum { LOCATION_ARENA, LOCATION_FIXED, LOCATION_EXTERNAL };
/* Behind the external places: what else a graph of the device depends on. */
enum { PLACE_ARENA, PLACE_MOVED, PLACES_BESIDE };
#define NEVER UINT32_MAX
#define NO_ALIAS_SET 0 /* class numbers are value ids; nothing lies in class 0 */

/* Values that share memory: a node's result with its views and what is computed in its place. */
typedef struct alias_set {
    void *fixed;
    uint32_t external;
    uint32_t interval; /* ARENA: its place in the map, or NEVER */
    uint32_t first;    /* step times */
    uint32_t last;
    int32_t location; /* LOCATION_* */
    bool used;
    bool kept;
    bool escapes; /* guarded, and read where its guard is not asked */
} alias_set;

/* An operand that is a packed weight. */
typedef struct packed_operand {
    struct packed_operand *next; /* of the step; NULL: none */
    weight_pack *pack;
    uint64_t told; /* the version that the kernel reads; UINT64_MAX: it has not been told yet */
    uint32_t operand;
} packed_operand;

/* The call of one step.  The arrays point into program.slots. */
typedef struct step {
    tutti_status (*run)(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch);
    void *state;
    tutti_op_call *call;
    const void *const *in;
    void *const *out;
    void *scratch;
    const float *const *guard;                /* NULL: none; 0 there: skip */
    const tutti_kernel *kernel;               /* NULL: a store, a copy or a group on the host */
    const graph_node *node;                   /* NULL: a store; the last one of a group */
    const pointwise_kernel *pointwise_kernel; /* NULL: a node alone, or a store */
    const char *algorithm;                    /* which of several; NULL where there is one */
    packed_operand *packed;                   /* NULL: none */
    const tutti_op_choice *choice;            /* what a device's kernel tells of it; or NULL */
    uint32_t scratch_interval;
    uint32_t time;
    uint32_t zeros; /* bit j: out[j] becomes zeros when the step is skipped */
    bool upcast;    /* `state` is an upcast */
    bool sums;      /* over slots: a run pauses behind it; skipped, it has zeros */
} step;

/* program_watch, program_observe. */
typedef struct program_watcher {
    void (*passed)(void *ctx, uint32_t step); /* NULL: nobody */
    void *ctx;
    const uint32_t *marks; /* on a device `passed` hears of these steps alone */
    uint32_t nmarks;
    void (*reached)(void *ctx, int32_t segment, uint32_t step); /* NULL: nobody */
    void *reached_ctx;
    const program_observer *observer; /* NULL: nobody */
    program_sum_fn sum;               /* NULL: nobody */
    void *sum_ctx;
} program_watcher;

/* Segment 1 on a device, cut behind some of its steps. */
typedef struct program_marks {
    uint32_t *steps; /* from 1 */
    uint32_t count;
    graph_captures *captures; /* of the count + 1 parts; NULL: not cut yet */
} program_marks;

/* A segment on a device, cut behind its sums over slots. */
typedef struct program_sum_parts {
    graph_captures *captures; /* of each part; NULL: not cut yet */
    uint32_t count;
} program_sum_parts;

/* Its graphs on a device. */
typedef struct program_captures {
    graph_captures segments[2]; /* whole ones */
    program_marks marks;
    program_sum_parts sums[2];
    double *numbers; /* of the host's: those of a sum; NULL: none yet */
    bool ran;        /* segment 1, by whatever graph */
} program_captures;

/* Where it runs. */
typedef struct program_base {
    unsigned char *arena;
    const unsigned char *from; /* fixed places [from, from + bytes) lie at `to` instead */
    unsigned char *to;
    uint64_t bytes;
    bool dirty; /* the arena or what is fixed moved: slots have old addresses */
} program_base;

struct program {
    const graph *g;
    pool memory; /* calls, descs */
    tutti_step now;
    tutti_value *alias_set_of; /* by value: union-find */
    alias_set *alias_sets;     /* by value */
    step *steps;
    void **slots;
    uint32_t *slot_alias_set; /* by slot */
    arena_interval *intervals;
    void **external;            /* behind the last: PLACE_* */
    const tutti_device *device; /* NULL: the host */
    void **constants;           /* by value, on the device; NULL where the graph's own serve */
    program_captures captures;
    const weight_packs *packs; /* of its steps; NULL: none */
    program_base base;
    program_rematerialization rematerialization;
    uint64_t bytes;
    uint64_t cut_offset;
    uint32_t nvalues, nsteps, nslots, nintervals, nexternal;
    uint32_t cut; /* steps of segment 0 */
    program_watcher watcher;
};

/* The class that `v` belongs to. */
tutti_value program_alias_set(const program *p, tutti_value v);

/* buffer_binding.c: slots get their addresses, where these have changed. */
void program_bind(program *p);
/* parts.c: says which step failed. */
tutti_status program_fail_step(const step *s, tutti_status status, tutti_error *err);
/* What is zeros where the step's guard is 0. */
void program_skip_step(const step *s);
/* A segment on the host; a part of it, as program_run_part says. */
tutti_status program_run_here(program *p, int32_t segment, tutti_error *err);
tutti_status program_run_part_here(const program *p, int32_t segment, uint32_t *at,
                                   program_pause *ret_pause, tutti_error *err);

/* Gives back what its kernel prepared. */
void program_end_step(const step *s);

/* on_device.c.  The operation that runs groups there; NULL: there is none, or pointwise_kernel_run does. */
const tutti_op *program_pointwise_op(const graph *g, const tutti_device *d);
/* That and, where it is the host's for CUDA, what kernels see of the device. */
pointwise_device program_pointwise_device(const graph *g, const tutti_device *d);
/* Whether any function of the host's may be launched there. */
bool program_runs_host_code(const tutti_device *d);
/* The device becomes the program's; `captures` is what its graphs are told to. */
tutti_status program_place_constants(program *p, const tutti_device *d, capture_log *captures,
                                     tutti_error *err);
void program_leave_device(program *p);
/* captured_segment.c: as a graph where the device has them, or several, that end with the marks of who watches or with sums
 * over slots, where anybody makes these. */
tutti_status program_run_on_device(program *p, int32_t segment, tutti_error *err);
/* As program_run_part. */
tutti_status program_run_part_on_device(program *p, int32_t segment, uint32_t *at,
                                        program_pause *ret_pause, tutti_error *err);
void program_drop_parts(program *p); /* graphs of all such parts */
/* Every step, one by one. */
tutti_status program_run_steps(const program *p, const step *first, const step *end,
                               tutti_error *err);

/* Kernels of the stores; in[0] and out[0] are f32 for `add`, bytes for the others. */
tutti_status store_copy(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch);
tutti_status store_add(void *state, const tutti_op_call *c, const void *const *in,
                       void *const *out, void *scratch);
tutti_status store_zero(void *state, const tutti_op_call *c, const void *const *in,
                        void *const *out, void *scratch);

#endif
