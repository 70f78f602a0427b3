/* program.h - a graph made ready to run: scheduled steps over memory that is laid out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_PROGRAM_PROGRAM_H
#define HOST_GRAPH_PROGRAM_PROGRAM_H

#include "graph/ir/graph.h"
#include "graph/passes/rematerialization.h"
#include "graph/program/arena.h"
#include "graph/program/weight_packs.h"
#include "graph/runtime/autotune.h"
#include "graph/runtime/device_memory.h"
#include "graph/runtime/graph_capture.h"

#include <stdio.h>

typedef struct program program;

enum { STORE_WEIGHT, STORE_MEMORY, STORE_EXTERNAL };

/* When `value` is there it goes to a fixed place: straight from the node that makes it where
 * nothing forbids that, by a copy otherwise. */
typedef struct program_store {
    tutti_value value;  /* 0: the place is filled with zeros */
    int32_t kind;       /* STORE_*: a weight (an assignment), memory, or an external place */
    uint32_t index;     /* of the weight or the external place */
    int32_t segment;    /* the earliest that may do it */
    bool add;           /* to what is there, in f32 */
    void *memory;       /* STORE_MEMORY */
    tutti_value before; /* MEMORY: an input that is what is there before the run; 0: none */
    uint32_t
        onto; /* EXTERNAL: 1 + the place of an input, where the value goes instead if the node that makes it
                           may write there, behind or as the last one that reads it; 0: none */
    uint64_t bytes;
} program_store;

/* The graph's inputs lie at external places 0, 1, ..., except `held` ones: these live in the arena
 * from between segments 0 and 1 on, where something outside writes them. */
typedef struct program_spec {
    const graph *g;
    const tutti_value *keep; /* live to the end */
    const tutti_value *held;
    /* By keep[k]: nobody reads it behind segment 0 but who writes held[k], which lies in its place unless segment 1
     * reads it too.  NULL: none. */
    const bool *spent;
    const program_store *stores;
    void *const *weights; /* address by id */
    /* NULL: there is no such place.  Where weight `id` is kept in another dtype, which casts of it give:
     * those are no steps.  NULL there too: it is not kept. */
    void *(*copy)(const void *ctx, uint32_t id, int32_t dtype);
    const void *copy_ctx;
    /* NULL: weights are read as they lie.  It outlives the program, whose graph has no segment 1. */
    const weight_packs *packs;
    uint32_t nkeep;
    uint32_t nheld;
    uint32_t nstores;
    uint32_t nexternal;
    uint64_t cut_bytes; /* wanted in the arena between segments 0 and 1 */
    int32_t threads;
    int32_t
        rematerialize; /* REMATERIALIZE_*: how much of what the graph offers to rematerialize runs */
    autotuner *autotuner;       /* NULL: kernels are not measured */
    const tutti_device *device; /* where all of that memory is; NULL: the host's */
    capture_log *captures;      /* what becomes of its graphs; NULL: nobody asks */
} program_spec;

/* Needs of the spec only the graph and the weights' memory after this.  Errors name module path and op. */
TUTTI_NODISCARD tutti_status program_create(const program_spec *spec, program **ret_program,
                                            tutti_error *err);
void program_destroy(program *p); /* NULL is allowed */

uint64_t program_bytes(const program *p); /* of the arena */
/* Of memory that it holds itself, about: what a kernel prepares is taken for 32 KiB. */
uint64_t program_held_bytes(const program *p);
uint64_t program_cut_offset(const program *p);
uint32_t program_nsteps(const program *p);
uint32_t program_nsteps_of(const program *p, int32_t segment);

/* Where the arena and the external places are; cheap when nothing changes. */
void program_set_arena(program *p, void *base);
void program_set_external(program *p, uint32_t k, const void *place);
/* Where `v` lies; NULL when it was found useless, or its external place is not set. */
void *program_address(const program *p, tutti_value v);

/* Whether `v` lies at external place `k`; whether two values lie at one place of the arena. */
bool program_is_external(const program *p, tutti_value v, uint32_t k);
bool program_is_shared(const program *p, tutti_value a, tutti_value b);

/* Runs segment 0 or 1.  Errors name module path and op. */
TUTTI_NODISCARD tutti_status program_run(program *p, int32_t segment, const tutti_step *step,
                                         tutti_error *err);
/* The last step of segment 1, from 1, that reads or writes any of these bytes, which lie outside of the arena; 0: none
 * does. */
uint32_t program_last_use(program *p, const void *memory, uint64_t bytes);
/* Whether segment 1 has run on the program's device. */
bool program_has_run(const program *p);
/* From now on segment 1 calls `passed` behind steps with their number, from 1: run on the host, behind each; on a device
 * that has memory of its own, behind each of `marks`, once the device has been given what is up to there.  Marks grow;
 * borrowed.  NULL ends it. */
void program_watch(program *p, void (*passed)(void *ctx, uint32_t step), void *ctx,
                   const uint32_t *marks, uint32_t nmarks);
/* The steps of a segment, from 1, between which it reads or writes any of these bytes; both 0: none does. */
typedef struct program_use {
    uint32_t first, last;
} program_use;
program_use program_uses(program *p, int32_t segment, const void *memory, uint64_t bytes);
/* From now on either segment, run on the host, calls `reached` before each step with its number, from 1, and behind the
 * last with one more.  NULL ends it. */
void program_reach(program *p, void (*reached)(void *ctx, int32_t segment, uint32_t step),
                   void *ctx);
/* One step, for who measures. */
typedef struct program_step {
    char name[96];         /* its operation; "add+relu" for a group; "store" */
    const char *scope;     /* the path of its module, borrowed; "" for none */
    const char *algorithm; /* the kernel that it goes by, of several; NULL where there is one */
    double flops;          /* as its operation counts them: two for every product */
    uint64_t
        bytes; /* of its operands, and twice its results: lines are read before they are written */
    uint64_t live; /* of the arena, in use while it runs */
    uint64_t read; /* operands and results, once each */
    uint64_t written;
} program_step;
/* Steps count from 0.  [step] */
void program_describe(const program *p, uint32_t k, program_step *ret_step);
/* By what step k runs, where its kernel tells; borrowed, or NULL. */
const tutti_op_choice *program_choice(const program *p, uint32_t k);
const char *program_op(const program *p, uint32_t k); /* its operation's name; "store" */
const char *program_scope(const program *p,
                          uint32_t k); /* the path of its module; "" for none */
/* One place of the arena's map, k < program_nplaces.  Times are steps in their order from 0, and one more between the
 * segments: from 0 to program_nsteps. */
typedef struct program_place {
    const char
        *op; /* that writes it first; "scratch", "" for what comes from outside; borrowed */
    const char *scope; /* likewise */
    uint64_t bytes;
    uint64_t offset;
    uint32_t first; /* times */
    uint32_t last;
} program_place;
uint32_t program_nplaces(const program *p);
program_place program_place_at(const program *p, uint32_t k);
uint64_t program_peak(const program *p); /* of the arena in use at a time; bytes */
/* Hears of each step that the host has run; times are CLOCK_MONOTONIC's. */
typedef struct program_observer {
    void (*ran)(void *ctx, const program *p, uint32_t k, int64_t begin_ns, int64_t end_ns);
    void *ctx;
} program_observer;
/* From now on; borrowed, NULL ends it.  Steps on a device are not heard of. */
void program_observe(program *p, const program_observer *o);
/* Runs a segment without a graph of its own: where work of several programs is gathered into one. */
TUTTI_NODISCARD tutti_status program_run_uncaptured(program *p, int32_t segment,
                                                    const tutti_step *step, tutti_error *err);

/* Runs segment 0 on the host step by step, to the first result with a NaN or plus infinity: the path of
 * its module and its operation, borrowed; NULL for both when there is none. */
TUTTI_NODISCARD tutti_status program_find_unsound(program *p, const tutti_step *step,
                                                  const char **ret_scope, const char **ret_op,
                                                  tutti_error *err);

/* What is rematerialized because that makes the arena smaller. */
typedef struct program_rematerialization {
    uint32_t results;
    uint32_t offered;
    uint64_t saved; /* bytes, about */
    double work;    /* estimated, as a fraction of all of a run's */
} program_rematerialization;
program_rematerialization program_rematerialized(const program *p);

/* The arena's map, for checks; borrowed. */
const arena_interval *program_intervals(const program *p, uint32_t *ret_count);
/* Of the steps that may be fast, as graph_set_fast says, how many go another way than in f32. */
uint32_t program_fast_steps(const program *p, uint32_t *ret_possible);
void program_dump(const program *p, FILE *file);

/* The kernel with which `op` runs on `d`, or NULL. */
const tutti_kernel *program_kernel(const tutti_device *d, const tutti_op *op);
/* What kernels and device code on `d` are launched through; NULL: the device does not take device code. */
const tutti_cuda_v1 *program_cuda(const tutti_device *d);
/* Whether `d` takes device code, which program_cuda launches. */
bool program_runs_device_code(const tutti_device *d);
/* Whether the user lets such a device round factors of F32 to TF32 in any precision (TUTTI_CUDA_TF32). */
bool program_allows_tf32(const tutti_device *d);
/* Whether `d` has a kernel for each operation of the list `ops`, which ends in NULL, that plans get because of
 * its flags.  Error E_UNSUPPORTED names the flag and the operation.  [control] */
TUTTI_NODISCARD tutti_status program_check_device(const tutti_op *const *ops,
                                                  const tutti_device *d, tutti_error *err);

#endif
