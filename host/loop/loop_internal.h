/* loop_internal.h - the parts of a loop, as its own files see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_LOOP_LOOP_INTERNAL_H
#define HOST_LOOP_LOOP_INTERNAL_H

#include "engine/handlers/handlers.h"
#include "loop/loop_place.h"
#include "tutti_host/loop.h"

#include <stdatomic.h>
#include <time.h>

enum { LOOP_CUSTOM = HANDLERS_EVENTS - TUTTI_EVENT_CUSTOM };

/* Where a run stands, which is also where an interrupted one goes on. */
typedef enum phase {
    PHASE_IDLE,
    PHASE_START,
    PHASE_NEXT_EPOCH,
    PHASE_OPEN_DATA,
    PHASE_ASK_BATCH,  /* get_batch_started */
    PHASE_FETCH,      /* the batch, get_batch_completed */
    PHASE_FETCHED,    /* counted; iteration_started */
    PHASE_PROCESS,    /* the process function, iteration_completed */
    PHASE_ITERATED,   /* is the epoch, or the run, over? */
    PHASE_RESTART,    /* the data, behind dataloader_stop_iteration */
    PHASE_EPOCH_OVER, /* epoch_completed */
    PHASE_FINISH      /* completed */
} phase;

enum { FLAG_NO, FLAG_YES, FLAG_SKIP }; /* SKIP: without the final event */

typedef struct custom_name {
    char *name;
    char *attribute; /* or NULL */
} custom_name;

typedef struct named_value {
    char *name;
    tutti_loop_value value; /* its text is owned */
    bool saved;             /* part of state_dict */
    struct named_value *next;
} named_value;

/* A handler with the loop that it wants; lives as long as the loop. */
typedef struct listener {
    tutti_loop *loop;
    tutti_loop_handler fn;
    void *ctx;
    int32_t (*test)(tutti_loop *loop, int64_t count, void *ctx, tutti_error *err);
    uint64_t handle;
    struct listener *next;
} listener;

/* What the loop was asked for, by any thread or a signal. */
typedef struct loop_requests {
    atomic_int terminate; /* FLAG_* */
    atomic_int terminate_epoch;
    atomic_int interrupt;
    atomic_int signal; /* 0: none came */
    int sigint;        /* 0: leave SIGINT alone; 1 exception, 2 interrupt */
} loop_requests;

/* The data under way. */
typedef struct loop_source {
    const tutti_loop_data *live;
    bool open;        /* there is a source, maybe of no data */
    bool exhausted;   /* the data ended right after a restart */
    bool starved;     /* an epoch gave nothing, and none to come will */
    bool discovered;  /* epoch_length was found at the end of the data */
    int64_t nothings; /* batches that no data still gives before it starts again */
} loop_source;

typedef struct loop_counters {
    int64_t iter_counter;
    int64_t iterations; /* made in this epoch */
    bool open;          /* an epoch has begun and not ended */
    bool under_way;     /* the iteration is counted, and its process has not returned */
    bool has_first;
    int64_t first; /* iter_counter at which the next epoch starts, if has_first */
} loop_counters;

typedef struct loop_clocks {
    double run; /* when the run, and the epoch's iterations, began */
    double epoch;
    double handlers; /* seconds in handlers of epoch_started */
} loop_clocks;

typedef struct loop_random {
    tutti_loop_rng rng;
    bool has_saved; /* loaded, to be put back at the next resume */
    tutti_loop_rng saved;
} loop_random;

struct tutti_loop {
    tutti_loop_options options;
    tutti_loop_state state;
    handlers *handlers;
    listener *links;
    custom_name customs[LOOP_CUSTOM];
    int32_t ncustoms;
    named_value *attributes; /* in the order in which they came */
    named_value *metrics;

    phase phase; /* IDLE, or where to go on */
    bool running;
    bool stopped; /* the latest event of the loop is dataloader_stop_iteration */
    int depth;    /* of tutti_loop_fire inside itself */
    loop_requests requests;
    loop_source source;
    loop_counters counters;
    loop_clocks clocks;
    loop_random random;
};

/* ---- machine.c ---- */

/* From the present phase to the end of the run or an interrupt. */
tutti_status loop_advance(tutti_loop *l, tutti_error *err);
bool loop_done(const tutti_loop *l);

/* ---- loop.c ---- */

tutti_status loop_fire(tutti_loop *l, const tutti_loop_firing *firing, tutti_error *err);
TUTTI_PRINTF(2, 3)
void loop_warn(const tutti_loop *l, const char *format, ...);

/* ---- signal.c ---- */

void loop_enter(tutti_loop *l); /* takes SIGINT if the loop wants it and no outer one has it */
void loop_leave(tutti_loop *l);

/* ---- source.c ---- */

int64_t loop_data_length(const tutti_loop_data *data); /* TUTTI_LOOP_NONE when unknown */
tutti_status loop_data_open(tutti_loop *l, tutti_error *err);
tutti_status loop_data_next(tutti_loop *l, tutti_error *err);
/* The data starts again: at its end, or (with the epoch's iter_counter) because the epoch was cut. */
tutti_status loop_data_restart(tutti_loop *l, int64_t cut_at, tutti_error *err);

/* ---- attributes.c ---- */

named_value *loop_value(const tutti_loop *l, const char *name);
void loop_values_free(named_value *list);

#endif
