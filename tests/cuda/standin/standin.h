/* standin.h - the inside of a libcudart without a GPU: memory, queues, graphs, faults to order. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_STANDIN_H
#define TESTS_CUDA_STANDIN_H

#include "emulator.h"
#include "standin_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define STANDIN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STANDIN_ASAN 1
#endif
#endif

/* The exported functions are declared by who calls them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT __attribute__((visibility("default")))

/* NVIDIA's numbers. */
enum {
    OK = 0,
    INVALID_VALUE = 1,
    MEMORY_ALLOCATION = 2,
    INVALID_CONFIGURATION = 9,
    INVALID_MEMCPY_DIRECTION = 21,
    INSUFFICIENT_DRIVER = 35,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    NEWER_DRIVER = 36,
    NO_KERNEL_IMAGE = 209,
    INVALID_RESOURCE_HANDLE = 400,
    ILLEGAL_STATE = 401,
    SYMBOL_NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILURE = 719,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_UNMATCHED = 903,
    CAPTURE_UNJOINED = 904,
    CAPTURED_EVENT = 907,
    CAPTURE_WRONG_THREAD = 908,
};
enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };
enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3, BY_ADDRESS = 4 };

struct cudaDeviceProp;
struct cudaFuncAttributes;
struct dim3 {
    unsigned int x, y, z;
};

/* ---- what was asked for by the environment (settings.c) ---- */

/* TUTTI_CUDA_STANDIN, "name=value,name=value". */
typedef struct settings {
    uint64_t devices;         /* 1 */
    uint64_t driver;          /* 13000 */
    uint64_t memory;          /* bytes: 2 GiB */
    uint64_t capability;      /* 90 */
    uint64_t multiprocessors; /* 3: few, so that grids are small */
    uint64_t seed;            /* 1; 0: everything in order */
    uint64_t fail_launch;     /* number of the launch that fails for good; 0: none */
    uint64_t fail_code;       /* and with what: 719 */
    uint64_t eager; /* 1: work is done at once; 2: that of all streams but the first one */
    uint64_t
        conditions; /* 1; 0: graphs have no conditional nodes; 2: such graphs are not launched */
    uint64_t captures; /* 0: what is gathered becomes no graph */
    uint64_t leaks;    /* 1: the process ends with status 97 when something leaked */
} settings;
const settings *standin_settings(void);

/* One line to the file that TUTTI_CUDA_TRACE names. */
__attribute__((format(printf, 1, 2))) void trace(const char *format, ...);

/* ---- errors (errors.c) ---- */

/* Every call of the runtime is between these two; `enter` gives the sticky error. */
unsigned enter(void);
unsigned leave(unsigned code);
/* From now on every call fails, and cudaGetErrorString tells the sentence. */
void go_bad(unsigned code, const char *sentence);
bool is_bad(void);
int current_device(void); /* the calling thread's */

/* ---- memory (memory.c) ---- */

typedef struct memory_block {
    uint64_t offset, bytes; /* bytes as asked for */
    uint64_t room;          /* with what separates it from the next one */
    uint64_t number;        /* "m3" in traces */
} memory_block;

/* The block that has all of [p, p + bytes), or NULL. */
const memory_block *memory_find(const void *p, uint64_t bytes);
bool memory_is_device(const void *p); /* anywhere in the region */
bool memory_is_pinned(const void *p, uint64_t bytes);
/* While > 0 the process may reach the device's memory. */
void memory_open(void);
void memory_close(void);
const char *memory_name(const void *p, char *room, size_t size); /* "m3+16" */
uint64_t memory_leaks(uint64_t *ret_bytes);

/* ---- graphs (graph.c) ---- */

/* A number that a kernel sets and a node of the graph reads. */
typedef struct condition {
    struct condition *next;
    struct graph_body *graph; /* that it was made for */
    uint64_t handle;
    struct CUgraph_st *bodies[2]; /* if it is not 0; if it is; NULL before it has a node */
    unsigned value;
    bool set; /* since the graph began */
} condition;

typedef struct graph_body {
    work *first, **end;
    work *last;
    condition *conditions;
    struct graph_body *of; /* the graph that this is a body in, or NULL */
    const work *loose;     /* a node that the stream's next work would not wait for */
    uint32_t refs;
    uint32_t nwork;
    uint32_t execs; /* instances of it */
    uint32_t open;  /* bodies in it that are gathered right now */
    bool
        gone; /* the graph was destroyed; instances stay, but nobody promises that of conditions */
} graph_body;

/* A node's body.  The caller frees it. */
struct CUgraph_st *graph_new_body(graph_body *of);
void graph_free(struct CUgraph_st *graph);
graph_body *graph_of(const struct CUgraph_st *graph);
void graph_add(graph_body *g, work *w);
void graph_body_release(graph_body *g);
void graph_run(const graph_body *g);

/* conditions.c */
void conditions_begin(const graph_body *g);     /* it is launched: none is set */
void conditions_decide(const condition *c);     /* its node's turn */
bool conditions_are_whole(const graph_body *g); /* all have nodes, and it may be instantiated */
void conditions_free(graph_body *g);
uint64_t graph_leaks(void);
uint64_t code_leaks(void);

/* ---- images (images.c) ---- */

/* The kernels of an image: those between `first` and `end` that have its name, or all of them. */
typedef struct images {
    char name[96]; /* "kernels/exp", "plugins/ema" */
    const emulator_kernel *first, *end;
    bool any;
} images;

/* `code` is an image's name, or the path of a plugin's device code.  For that, kernels are what TUTTI_CUDA_EMULATED's
 * folders have under the file's name, <name>.so; plugins of the same build or installation are in this library. */
bool images_find(const char *code, images *ret);
const emulator_kernel *images_kernel(const images *i,
                                     const char *name); /* NULL: it has none of this name */

/* ---- kernels (code.c) ---- */

void launch_run(const work *w);

#endif
