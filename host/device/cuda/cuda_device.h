/* cuda_device.h - what the files of the CUDA backend share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_CUDA_DEVICE_H
#define HOST_DEVICE_CUDA_CUDA_DEVICE_H

#include "device/cuda/library.h"
#include "device/cuda/names.h"
#include "graph/runtime/autotune_file.h"
#include "tutti_host/device.h"

#include <stdbool.h>

typedef struct CUstream_st stream;

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

enum { OWN_UNIFORM, OWN_ADD, OWN_CLEAR_UNLESS, OWN_COUNT };

/* Blocks of a graph that is gathered (blocks.c). */
typedef struct cuda_blocks {
    const cuda_function *set;     /* has a guard choose the body */
    stream *stream;               /* what a body is given goes to this one */
    struct CUgraph_st *otherwise; /* of the open block: its other body */
    bool tried;
    bool on;     /* they can be had */
    bool used;   /* by the graph that is gathered */
    bool inside; /* one is open */
} cuda_blocks;

typedef struct cuda_device {
    tutti_cuda_v1 kernels; /* what kernels get */
    const cudart *rt;
    int index;
    char label[16];             /* "cuda:0" */
    char name[64];              /* "NVIDIA H100 80GB HBM3" */
    stream *own;                /* its stream */
    stream *zeroes;             /* on which new memory is cleared */
    stream *now;                /* of the call of run under way */
    tutti_cuda_settings wanted; /* no -1 left in it */
    uint64_t taken;             /* bytes of device memory */
    memory_piece *pieces;
    bool capturing;
    stream *gathers; /* what is given to it goes into a graph */
    cuda_blocks blocks;
    bool running;     /* a kernel's host code */
    bool dirty;       /* launches since the fault was last looked at */
    uint64_t ngather; /* launches in the graph being gathered */
    uint32_t gather_first;
    uint32_t nlaunched; /* ever */
    launched last[LAUNCHES_KEPT];
    names names;             /* of marks */
    unsigned char *shared;   /* device memory: a step, a fault */
    volatile uint32_t *seen; /* pinned: the fault as the host last fetched it */
    pinned steps[STEPS_AHEAD];
    uint32_t next_step;
    tutti_step told; /* what the device has as its step */
    pinned stages[STAGES];
    uint32_t next_stage;
    small_copies smalls;
    cuda_code *codes;
    cuda_function *functions;
    cuda_object *objects;
    cuda_function *own_code[OWN_COUNT];
    tutti_error kept; /* of a launch, until someone asks */
    choices known;    /* what was measured, as last read */
    bool looked;      /* for `known` */
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
    stream *s = given ? given : d->own;
    return d->blocks.inside && s == d->gathers ? d->blocks.stream : s;
}

/* code.c */
tutti_status code_function(void *ctx, const tutti_cuda_image *image, const char *entry,
                           const uint32_t *sizes, uint32_t nargs, void **ret_function,
                           tutti_error *err);
tutti_status code_launch(void *ctx, const tutti_cuda_launch *l);
void code_unload(cuda_device *d);

/* launch.c */
tutti_status cuda_launch(void *device, void *on, const tutti_launch *l, tutti_error *err);
/* The device's step becomes *step, for what `on` is given from now on. */
tutti_status cuda_tell_step(cuda_device *d, stream *on, const tutti_step *step,
                            tutti_error *err);
tutti_status cuda_make_steps(cuda_device *d, tutti_error *err);
tutti_status cuda_object_of(void *ctx, const void *key,
                            tutti_status (*make)(const tutti_cuda_v1 *cuda, void **ret_object,
                                                 tutti_error *err),
                            void (*destroy)(void *object), void **ret_object, tutti_error *err);

/* memory.c */
tutti_status cuda_memory(void *device, uint64_t *ret_free, uint64_t *ret_total,
                         tutti_error *err);
tutti_status cuda_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err);
void cuda_release(void *device, void *memory);
tutti_status cuda_host_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err);
void cuda_host_release(void *device, void *memory);
tutti_status cuda_copy(void *device, void *on, void *to, const void *from, uint64_t bytes,
                       int32_t how, tutti_error *err);
tutti_status cuda_fill(void *device, void *on, void *memory, uint8_t byte, uint64_t bytes,
                       tutti_error *err);
/* Pinned memory with its event; `p` is zero. */
tutti_status cuda_pin(const cuda_device *d, uint64_t bytes, pinned *p, tutti_error *err);
void cuda_unpin(const cuda_device *d, pinned *p); /* zero is allowed */
void cuda_forget_smalls(cuda_device *d);          /* which are all done */

/* stream.c */
tutti_status cuda_stream_create(void *device, void **ret_stream, tutti_error *err);
void cuda_stream_destroy(void *device, void *on);
tutti_status cuda_event_create(void *device, void **ret_event, tutti_error *err);
void cuda_event_destroy(void *device, void *event);
tutti_status cuda_event_record(void *device, void *event, void *on, tutti_error *err);
tutti_status cuda_event_wait(void *device, void *on, void *event, tutti_error *err);
int32_t cuda_event_done(void *device, void *event);
tutti_status cuda_synchronise(void *device, void *on, tutti_error *err);
tutti_status cuda_step(void *device, tutti_error *err);

/* capture.c */
tutti_status cuda_capture_begin(void *device, void *on, tutti_error *err);
tutti_status cuda_capture_end(void *device, void *on, void **ret_graph, tutti_error *err);
tutti_status cuda_replay(void *device, void *on, void *graph, const tutti_step *step,
                         tutti_error *err);
void cuda_graph_destroy(void *device, void *graph);

/* blocks.c */
tutti_status cuda_block(void *device, void *on, int32_t part, const float *guard,
                        tutti_error *err);
void cuda_blocks_end(cuda_device *d); /* that which is open */

/* choices.c: tutti_cuda_v1's recall and keep. */
tutti_status cuda_recall(void *ctx, const char *key, char *ret_choice, uint64_t size);
tutti_status cuda_keep(void *ctx, const char *key, char *text, uint64_t size, tutti_error *err);

/* own.c: what the device code of own.cu does. */
tutti_status own_load(cuda_device *d, tutti_error *err);
tutti_status cuda_random(void *device, void *on, float *memory, uint64_t n,
                         const tutti_device_draw *draw, tutti_error *err);
tutti_status cuda_add(void *device, void *on, float *to, const float *from, uint64_t n,
                      tutti_error *err);
tutti_status cuda_clear_unless(void *device, void *on, const float *guard, void *memory,
                               uint64_t bytes, tutti_error *err);

#endif
