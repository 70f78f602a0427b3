/* standin_queue.h - streams of the stand-in, their work and their events. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_STANDIN_QUEUE_H
#define TESTS_CUDA_STANDIN_QUEUE_H

#include "emulator.h"
#include "standin_work.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct mark { /* of an event that was recorded; counted */
    struct CUstream_st *stream;
    uint64_t done; /* nanoseconds when it was passed, 0 before */
    uint32_t refs;
    uint32_t reserved;
} mark;

enum work_kind {
    WORK_COPY,
    WORK_FILL,
    WORK_LAUNCH,
    WORK_MARK,
    WORK_WAIT,
    WORK_GRAPH,
    WORK_CALL,
    WORK_CONDITION
};

typedef struct work {
    struct work *next;
    enum work_kind kind;
    int byte;
    void *to;
    const void *from;
    void *staged; /* a copy of `from` */
    uint64_t bytes;
    const emulator_kernel *kernel;
    emulator_shape shape;
    void **args; /* and behind the pointers what they point to */
    mark *mark;
    struct graph_body *graph;
    struct condition *condition;
    standin_call call;
} work;

struct CUstream_st {
    struct CUstream_st *next;
    work *first, **end;
    uint64_t number;
    uint64_t nwork;
    struct graph_body *capture; /* what it gathers into, or NULL */
    struct CUgraph_st *into;    /* that, where this stream began it */
    unsigned mode;              /* of that capture, by `thread` */
    uint64_t thread;
    int device;
    bool began_capture;
    bool invalid; /* that capture cannot be finished */
};

struct CUevent_st {
    struct CUevent_st *next;
    mark *mark; /* NULL: never recorded */
    uint64_t number;
    struct graph_body *capture; /* recorded on a stream that gathered into this */
    int device;                 /* whose streams it may be recorded on */
    int reserved;
};

typedef struct CUstream_st stream;

/* Takes `w`; for a stream that gathers, into its graph. */
void queue_add(stream *s, work *w);
void work_run(const work *w);
void work_free(work *w);
void queue_run(stream *s); /* everything, and what it waits for */
void queue_run_all(void);
bool queue_is_stream(const stream *s);
/* Whether the calling thread may not make calls that wait, allocate or load, because it gathers, or
 * another one does with mode global; what is gathered is spoilt then. */
bool queue_is_gathering(void);
uint64_t queue_thread(void); /* the calling one */
/* The graph is whole: its streams work again, its events stand for nothing. */
void queue_leave_capture(const struct graph_body *g);
uint64_t queue_leaks(uint64_t *ret_events);

#endif
