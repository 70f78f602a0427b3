/* bench_dispatch.c - the events of a training batch where nobody matches, against direct calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "cli/cli.h"
#include "engine/participant.h"

#include <stdio.h>

enum { PLUGINS = 20, EVENTS = 13, BATCHES = 1000, ROUNDS = 801 };

static const int32_t batch_events[EVENTS] = {
    TUTTI_EVENT_BEFORE_DATALOADER,  TUTTI_EVENT_AFTER_DATALOADER,  TUTTI_EVENT_BATCH_START,
    TUTTI_EVENT_BEFORE_TRAIN_BATCH, TUTTI_EVENT_BEFORE_FORWARD,    TUTTI_EVENT_AFTER_FORWARD,
    TUTTI_EVENT_BEFORE_LOSS,        TUTTI_EVENT_AFTER_LOSS,        TUTTI_EVENT_BEFORE_BACKWARD,
    TUTTI_EVENT_AFTER_BACKWARD,     TUTTI_EVENT_AFTER_TRAIN_BATCH, TUTTI_EVENT_BATCH_END,
    TUTTI_EVENT_BATCH_CHECKPOINT};

/* Twenty plugins, each with code and an instance of its own, as if each came from a file. */
typedef struct quiet {
    int32_t wanted; /* an event that does not come */
} quiet;

static quiet selves[PLUGINS];

/* A function that stays one: neither merged into its caller nor made special for it. */
#ifdef __clang__
#define BENCH_OWN __attribute__((noinline, used))
#else
#define BENCH_OWN __attribute__((noinline, noclone, used))
#endif

#define FIVE(X, a, b, c, d, e) X(a) X(b) X(c) X(d) X(e)
#define LOW(X) FIVE(X, 0, 1, 2, 3, 4) FIVE(X, 5, 6, 7, 8, 9)
#define HIGH(X) FIVE(X, 10, 11, 12, 13, 14) FIVE(X, 15, 16, 17, 18, 19)
#define QUIET(X) LOW(X) HIGH(X)

#define DEFINE(k)                                                                              \
    BENCH_OWN static int32_t match_##k(void *self, const tutti_event *event)                   \
    {                                                                                          \
        __asm__ volatile(""); /* nothing of it is known to the caller */                       \
        return event->id == ((const quiet *)self)->wanted;                                     \
    }
QUIET(DEFINE)
#undef DEFINE

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    return TUTTI_OK;
}

static const tutti_calls tables[PLUGINS] = {
#define TABLE(k) {.struct_size = sizeof(tutti_calls), .match = match_##k, .apply = apply},
    QUIET(TABLE)
#undef TABLE
};

/* The limit: calls written out by hand, without order, traces or blame. */
static int32_t call_directly(int n, const tutti_event *event)
{
    int32_t matched = 0;
#define CALL(k)                                                                                \
    if (k >= n)                                                                                \
        return matched;                                                                        \
    matched |= match_##k(&selves[k], event);
    QUIET(CALL)
#undef CALL
    return matched;
}

static double by_hand(int n, tutti_timestamp *time)
{
    volatile int32_t sink = 0;
    const double start = monotonic_s();
    for (int b = 0; b < BATCHES; b++) {
        int32_t matched = 0;
        time->batch = b;
        for (int k = 0; k < EVENTS; k++) {
            const tutti_event event = {.struct_size = (uint32_t)sizeof event,
                                       .id = batch_events[k],
                                       .name = "event",
                                       .step = (uint64_t)time->batch,
                                       .time = time,
                                       .eval_time = time};
            matched |= call_directly(n, &event);
        }
        sink |= matched;
    }
    (void)sink;
    return (monotonic_s() - start) / BATCHES;
}

static double by_engine(engine *e, tutti_timestamp *time)
{
    const double start = monotonic_s();
    for (int b = 0; b < BATCHES; b++) {
        time->batch = b;
        for (int k = 0; k < EVENTS; k++)
            if (engine_run_event(e, batch_events[k], NULL))
                return -1.0;
    }
    return (monotonic_s() - start) / BATCHES;
}

static engine *make_engine(int n, const tutti_timestamp *time)
{
    static char names[PLUGINS][16];
    const engine_options options = {.time = time, .eval_time = time};
    engine *e = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    if (engine_create(&options, &e, &err))
        return NULL;
    for (int k = 0; k < n; k++) {
        (void)snprintf(names[k], sizeof names[k], "quiet%d", k);
        selves[k].wanted = -1 - k;
        const participant p = {.name = names[k],
                               .object = names[k],
                               .kind = TUTTI_KIND_ALGORITHM,
                               .plugin = "org.tutti.bench",
                               .manifest = "bench",
                               .calls = &tables[k],
                               .self = &selves[k],
                               .events = batch_events,
                               .nevents = EVENTS,
                               .on_error = ON_ERROR_STOP,
                               .pass_index = -1};
        if (engine_add_object(e, &p, &err))
            break;
    }
    if (err.status == TUTTI_OK && engine_seal(e, &err) == TUTTI_OK)
        return e;
    engine_destroy(e);
    return NULL;
}

int bench_dispatch(const cli_options *o, const tutti_op *const *ops)
{
    static const int counts[] = {0, 5, 10, 20};
    static const double aims[] = {0.1, 0.3, 0.5, 1.0};
    enum { CASES = sizeof counts / sizeof *counts };
    double best[CASES][2];
    tutti_timestamp time = {.struct_size = (uint32_t)sizeof time};
    engine *engines[CASES] = {NULL};
    int status = CLI_OK;
    for (int c = 0; c < CASES; c++) {
        best[c][0] = best[c][1] = 1e9;
        engines[c] = make_engine(counts[c], &time);
        if (!engines[c]) {
            (void)fputs("tutti: no engine to measure\n", stderr);
            status = CLI_FAILED;
            goto end;
        }
    }
    /* In turn, and the best of many, so that a busy machine disturbs both alike. */
    for (int round = 0; round < ROUNDS; round++)
        for (int c = 0; c < CASES; c++) {
            const double took[] = {by_engine(engines[c], &time), by_hand(counts[c], &time)};
            for (int k = 0; k < 2; k++)
                best[c][k] = took[k] < best[c][k] ? took[k] : best[c][k];
        }
    (void)printf("%d events of one batch, nobody matches; best of %d times %d batches\n"
                 "plugins   engine      by hand     aim\n",
                 EVENTS, ROUNDS, BATCHES);
    for (int c = 0; c < CASES; c++)
        (void)printf("%7d   %.3f us    %.3f us    %.1f us\n", counts[c], best[c][0] * 1e6,
                     best[c][1] * 1e6, aims[c]);
end:
    for (int c = 0; c < CASES; c++)
        engine_destroy(engines[c]);
    return status;
}
