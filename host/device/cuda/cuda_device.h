/* cuda_device.h - what the files of the CUDA backend share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_CUDA_DEVICE_H
#define HOST_DEVICE_CUDA_CUDA_DEVICE_H

#include "device/cuda/code_file.h"
#include "device/cuda/library.h"
#include "device/cuda/names.h"
#include "graph/runtime/autotune_file.h"
#include "tutti_host/device.h"

#include <stdbool.h>

typedef struct CUstream_st stream;

typedef struct cuda_profile cuda_profile;

/* A loaded image; its functions. */
typedef struct cuda_code {
    struct cuda_code *next;
    const tutti_cuda_image *image;
    struct CUlib_st *library;
} cuda_code;
typedef struct cuda_function {
    struct cuda_function *next;
    struct CUkern_st *kernel;
    const cuda_code *code;
    const char *entry;
    uint32_t shared;  /* of dynamic memory that it was allowed so far */
    bool checked;     /* what follows is known to be so */
    uint32_t nargs;   /* of its arguments, and */
    uint32_t sizes[]; /* how long each is; behind them `entry` */
} cuda_function;

typedef struct cuda_object {
    struct cuda_object *next;
    const void *key;
    void *object;
    void (*destroy)(void *object);
} cuda_object;

/* A thing that was launched, for messages. */
typedef struct launched {
    uint32_t mark;
    uint32_t after; /* a graph: so many more launches */
    const cuda_function *function;
} launched;

/* Device memory that was taken, where a limit is to be kept. */
typedef struct memory_piece {
    struct memory_piece *next;
    void *memory;
    uint64_t bytes;
} memory_piece;

/* A place in pinned memory that is free once `done` is. */
typedef struct pinned {
    void *memory;
    struct CUevent_st *done;
} pinned;

enum {
    LAUNCHES_KEPT = 4,
    STEPS_AHEAD = 16, /* of a step's numbers on their way to the device */
    STAGES = 4,
    STAGE_BYTES = 1 << 20,
    SMALL_BYTES = 256, /* copies up to these have places of their own */
    SMALL_PLACES = 16, /* in a group, which is free at once */
    SMALL_GROUPS = 16,
};

/* Small copies on their way to the device, so many that nobody waits for a place: numbers of a step. */
typedef struct small_copies {
    unsigned char *memory; /* pinned; NULL: none yet */
    struct CUevent_st *done[SMALL_GROUPS];
    stream *on;     /* of the copies in the present group */
    uint32_t group; /* the present one */
    uint32_t used;  /* places in it */
} small_copies;

/* Pinned memory through which copies from pageable memory go. */
typedef struct cuda_staging {
    pinned large[STAGES];
    uint32_t next; /* of `large` */
    small_copies small;
} cuda_staging;

typedef struct cuda_streams {
    stream *own;
    stream *clearing; /* clears new memory */
    stream *current;  /* of the call of run under way */
} cuda_streams;

typedef struct cuda_heap {
    uint64_t bytes; /* of device memory that was allocated */
    memory_piece *pieces;
} cuda_heap;

typedef struct cuda_capture {
    stream *stream; /* what is given to it goes into a graph; NULL: none */
    bool active;
    uint64_t launches; /* in the graph under way */
    uint32_t first;    /* mark of the first of them */
} cuda_capture;

typedef struct launch_history {
    uint32_t count; /* of all launches */
    launched last[LAUNCHES_KEPT];
    names names; /* of marks */
} launch_history;

/* The step that the device has, and the ones on their way. */
typedef struct step_ring {
    pinned ring[STEPS_AHEAD];
    uint32_t next;
    tutti_step told;
} step_ring;

/* Errors of work that was launched, until someone asks. */
typedef struct cuda_faults {
    volatile uint32_t *seen; /* pinned: the fault as the host last fetched it */
    bool dirty;              /* launches since it was last looked at */
    tutti_error kept;        /* of a launch */
} cuda_faults;

enum { OWN_UNIFORM, OWN_ADD, OWN_CLEAR_UNLESS, OWN_COUNT };

typedef struct cuda_code_cache {
    code_file *file; /* of operations; NULL: none was needed yet */
    cuda_code *images;
    cuda_function *functions;
    cuda_function *own[OWN_COUNT];
} cuda_code_cache;

/* What autotuning measured, as last read. */
typedef struct cuda_tuned {
    choices known;
    bool looked;
} cuda_tuned;

/* Blocks of a graph under capture (blocks.c). */
typedef struct cuda_blocks {
    const cuda_function *set;     /* has a guard choose the body */
    stream *stream;               /* what a body is given goes to this one */
    struct CUgraph_st *otherwise; /* of the open block: its other body */
    bool tried;
    bool on;     /* they can be had */
    bool used;   /* by the graph under capture */
    bool inside; /* one is open */
} cuda_blocks;

typedef struct cuda_device {
    tutti_cuda_v1 kernels; /* what kernels get */
    const cudart *rt;
    int index;
    char label[16];             /* "cuda:0" */
    char name[64];              /* "NVIDIA H100 80GB HBM3" */
    tutti_cuda_settings wanted; /* no -1 left in it */
    unsigned char *shared;      /* device memory: a step, a fault */
    bool running;               /* a kernel's host code */
    cuda_streams streams;
    cuda_heap heap;
    cuda_staging staging;
    cuda_capture capture;
    cuda_blocks blocks;
    launch_history history;
    step_ring steps;
    cuda_faults faults;
    cuda_code_cache code;
    cuda_object *objects;
    cuda_tuned tuned;
    cuda_profile *profile; /* NULL: launches are not timed */
} cuda_device;

/* check.c.  Makes `d` the calling thread's; every call of the table begins with it. */
void cuda_enter(const cuda_device *d);
/* A code of the runtime's as a status and a sentence: "cuda:0: <what>: ...".  Errors of work that went
 * before name what was launched last. */
tutti_status cuda_check(const cuda_device *d, unsigned int code, const char *what,
                        tutti_error *err);
/* Where what is given to a stream goes. */
static inline stream *cuda_stream_of(const cuda_device *d, void *given)
{
    stream *s = given ? given : d->streams.own;
    return d->blocks.inside && s == d->capture.stream ? d->blocks.stream : s;
}

#endif
