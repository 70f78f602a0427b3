/* queue.c - streams whose work is done late, events between them, copies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUED_MOST = 20000 }; /* works on a stream before it goes ahead by itself */

static stream *streams;
static struct CUevent_st *events;
static uint64_t stream_numbers, event_numbers;
static uint64_t random_state;

static uint64_t now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void mark_release(mark *m)
{
    if (m && --m->refs == 0)
        free(m);
}

void work_free(work *w)
{
    mark_release(w->mark);
    if (w->graph)
        graph_body_release(w->graph);
    free(w->staged);
    free((void *)w->args);
    free(w);
}

/* ---- doing it ---- */

static bool run_first(stream *s);

/* What waits for another process is asked again a little later. */
static void pause_a_little(void)
{
    const struct timespec t = {0, 50000};
    (void)nanosleep(&t, NULL);
}

static void run_to_mark(const mark *m)
{
    while (!m->done && !is_bad())
        if (!run_first(m->stream))
            pause_a_little();
}

/* Memory of the device that was given back since the call, or since a graph was gathered. */
static bool is_gone(const work *w)
{
    if ((memory_is_device(w->to) && !memory_find(w->to, w->bytes)) ||
        (!w->staged && memory_is_device(w->from) && !memory_find(w->from, w->bytes))) {
        go_bad(ILLEGAL_ADDRESS, "a copy or a fill of memory that was given back");
        return true;
    }
    return false;
}

void work_run(const work *w)
{
    switch (w->kind) {
    case WORK_COPY:
        if (is_gone(w))
            break;
        memmove(w->to, w->staged ? w->staged : w->from, w->bytes);
        break;
    case WORK_FILL:
        if (is_gone(w))
            break;
        memset(w->to, w->byte, w->bytes);
        break;
    case WORK_LAUNCH:
        launch_run(w);
        break;
    case WORK_MARK:
        w->mark->done = now();
        break;
    case WORK_WAIT:
        run_to_mark(w->mark);
        break;
    case WORK_GRAPH:
        graph_run(w->graph);
        break;
    case WORK_CALL:
        w->call.run(w->staged);
        break;
    case WORK_CONDITION:
        conditions_decide(w->condition);
        break;
    }
}

static bool is_ready(const work *w)
{
    if (w->kind != WORK_CALL || !w->call.ready || is_bad())
        return true;
    memory_open();
    const bool ready = w->call.ready(w->staged) != 0;
    memory_close();
    return ready;
}

/* A bad device does nothing any more.  False: the work waits for something outside of this device. */
static bool run_first(stream *s)
{
    work *w = s->first;
    if (w->kind == WORK_WAIT)
        run_to_mark(w->mark);
    if (!is_ready(w))
        return false;
    s->first = w->next;
    s->nwork--;
    if (!s->first)
        s->end = &s->first;
    memory_open();
    if (!is_bad())
        work_run(w);
    else if (w->kind == WORK_MARK)
        w->mark->done = now();
    memory_close();
    work_free(w);
    return true;
}

void queue_run(stream *s)
{
    while (s->first)
        if (!run_first(s))
            pause_a_little();
}

/* A piece of this stream, then one of that, as it comes. */
void queue_run_all(void)
{
    if (!random_state)
        random_state = standin_settings()->seed * 2 + 1;
    for (;;) {
        uint32_t busy = 0, pick;
        for (const stream *s = streams; s; s = s->next)
            busy += s->first != NULL;
        if (!busy)
            return;
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        pick = standin_settings()->seed ? (uint32_t)(random_state >> 33) % busy : 0;
        stream *s = streams;
        while (!s->first || pick--)
            s = s->next;
        if (!run_first(s))
            pause_a_little();
    }
}

/* Streams beside the first one go ahead as far as they may, as those of a device do that the host is slow to feed. */
static bool may_go_ahead(const stream *s)
{
    const work *w = s->first;
    return s->number != 1 && w && (w->kind != WORK_WAIT || w->mark->done);
}

static void go_ahead(void)
{
    bool goes_on;
    do {
        goes_on = false;
        for (stream *s = streams; s; s = s->next)
            while (may_go_ahead(s) && run_first(s))
                goes_on = true;
    } while (goes_on);
}

/* ---- asking for it ---- */

bool queue_is_stream(const stream *s)
{
    const stream *k = streams;
    while (k && k != s)
        k = k->next;
    return k != NULL;
}

uint64_t queue_thread(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

bool queue_is_gathering(void)
{
    bool found = false;
    const uint64_t me = queue_thread();
    for (stream *s = streams; s; s = s->next)
        if (s->began_capture && s->mode != CAPTURE_RELAXED &&
            (s->mode == CAPTURE_GLOBAL || s->thread == me))
            found = s->invalid = true;
    return found;
}

/* Work on no stream is done at once, after all other. */
void queue_add(stream *s, work *w)
{
    w->next = NULL;
    if (!s) {
        queue_run_all();
        memory_open();
        if (!is_bad())
            work_run(w);
        memory_close();
        work_free(w);
        return;
    }
    if (s->capture) {
        /* Behind a node that it does not wait for, or beside a body that is gathered: NVIDIA's lets it pass. */
        if (s->capture->loose || s->capture->open) {
            s->invalid = true;
            trace("capture is spoilt: what follows a conditional node does not wait for it");
        }
        graph_add(s->capture, w);
        return;
    }
    *s->end = w;
    s->end = &w->next;
    if (++s->nwork > QUEUED_MOST || standin_settings()->eager == 1)
        queue_run(s);
    else if (standin_settings()->eager == 2)
        go_ahead();
}

static unsigned long long number(const stream *s)
{
    return s ? (unsigned long long)s->number : 0;
}

static unsigned check_stream(const stream *s)
{
    return !s || queue_is_stream(s) ? OK : INVALID_RESOURCE_HANDLE;
}

static unsigned check_copy(const void *to, const void *from, size_t bytes, unsigned kind)
{
    const bool to_device = memory_is_device(to), from_device = memory_is_device(from);
    if (kind < TO_DEVICE || kind > BY_ADDRESS ||
        (kind != BY_ADDRESS &&
         (to_device != (kind != TO_HOST) || from_device != (kind != TO_DEVICE))))
        return INVALID_MEMCPY_DIRECTION;
    return (to_device && !memory_find(to, bytes)) || (from_device && !memory_find(from, bytes))
               ? INVALID_VALUE
               : OK;
}

/* As the runtime does: pageable memory is read before the call returns, and written too. */
static unsigned copy(void *to, const void *from, size_t bytes, stream *s, bool waits)
{
    work *w = calloc(1, sizeof *w);
    if (!w)
        return MEMORY_ALLOCATION;
    *w = (work){.kind = WORK_COPY, .to = to, .from = from, .bytes = bytes};
    const bool pageable_from = !memory_is_device(from) && !memory_is_pinned(from, bytes);
    const bool pageable_to = !memory_is_device(to) && !memory_is_pinned(to, bytes);
    if (s && s->capture && (pageable_to || pageable_from)) {
        s->invalid = true;
        free(w);
        return CAPTURE_UNSUPPORTED;
    }
    if (pageable_from) {
        w->staged = malloc(bytes + 1);
        if (!w->staged) {
            free(w);
            return MEMORY_ALLOCATION;
        }
        memcpy(w->staged, from, bytes);
    }
    queue_add(s, w);
    if (s && (pageable_to || waits))
        queue_run(s);
    return OK;
}

EXPORT unsigned cudaMemcpyAsync(void *to, const void *from, size_t bytes, unsigned kind,
                                stream *s)
{
    char a[48], b[48];
    unsigned code = enter();
    if (!code)
        code = check_stream(s);
    if (!code)
        code = check_copy(to, from, bytes, kind);
    trace("copy %zu bytes %s -> %s stream %llu", bytes, memory_name(from, a, sizeof a),
          memory_name(to, b, sizeof b), number(s));
    if (!code && bytes)
        code = copy(to, from, bytes, s, false);
    return leave(code);
}

EXPORT unsigned cudaMemcpy(void *to, const void *from, size_t bytes, unsigned kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}

EXPORT unsigned cudaMemsetAsync(void *memory, int byte, size_t bytes, stream *s)
{
    char a[48];
    unsigned code = enter();
    if (!code)
        code = check_stream(s);
    if (!code && !memory_find(memory, bytes))
        code = INVALID_VALUE;
    trace("fill %zu bytes %s with %d stream %llu", bytes, memory_name(memory, a, sizeof a),
          byte, number(s));
    work *w = code || !bytes ? NULL : calloc(1, sizeof *w);
    if (w) {
        *w = (work){.kind = WORK_FILL, .to = memory, .byte = byte, .bytes = bytes};
        queue_add(s, w);
    }
    return leave(code);
}

static unsigned enqueue(stream *s, const standin_call *call)
{
    unsigned code = enter();
    if (!code)
        code = check_stream(s);
    trace("%s stream %llu", call->what, number(s));
    work *w = code ? NULL : calloc(1, sizeof *w);
    void *data = w ? malloc(call->bytes + 1) : NULL;
    if (data) {
        memcpy(data, call->data, call->bytes);
        *w = (work){.kind = WORK_CALL, .staged = data, .call = *call};
        queue_add(s, w);
    } else {
        free(w);
        code = code ? code : MEMORY_ALLOCATION;
    }
    return leave(code);
}

typedef struct host_call {
    void (*run)(void *data);
    void *data;
} host_call;

static void run_host_call(void *data)
{
    const host_call *h = data;
    h->run(h->data);
}

EXPORT unsigned cudaLaunchHostFunc(stream *s, void (*run)(void *data), void *data)
{
    const host_call h = {run, data};
    const standin_call call = {run_host_call, &h, sizeof h, "host function", NULL};
    return enqueue(s, &call);
}

static int is_device(const void *p, uint64_t bytes)
{
    return memory_find(p, bytes) != NULL;
}

static void fail(const char *sentence)
{
    go_bad(LAUNCH_FAILURE, sentence);
}

static int is_captured(const struct CUstream_st *s)
{
    return s && queue_is_stream(s) && s->capture;
}

EXPORT const standin_hooks tutti_cuda_standin = {
    sizeof(standin_hooks), 0, enqueue, is_device, fail, is_captured};

/* ---- streams ---- */

EXPORT unsigned cudaStreamCreateWithFlags(stream **ret_stream, unsigned flags)
{
    unsigned code = enter();
    stream *s = code ? NULL : calloc(1, sizeof *s);
    (void)flags;
    if (s) {
        s->end = &s->first;
        s->device = current_device();
        s->number = ++stream_numbers;
        s->next = streams;
        streams = *ret_stream = s;
        trace("stream %llu", number(s));
    }
    return leave(code);
}

EXPORT unsigned cudaStreamDestroy(stream *s)
{
    unsigned code = enter();
    stream **at = &streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (!*at)
        return leave(INVALID_RESOURCE_HANDLE);
    trace("stream destroy %llu", number(s));
    queue_run(s);
    *at = s->next;
    free(s);
    return leave(code);
}

EXPORT unsigned cudaStreamSynchronize(stream *s)
{
    unsigned code = enter();
    if (!code)
        code = check_stream(s);
    trace("wait for stream %llu", number(s));
    if (!code && s && s->capture) {
        s->invalid = true;
        code = CAPTURE_UNSUPPORTED;
    }
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    if (!code && s)
        queue_run(s);
    else if (!code)
        queue_run_all();
    return leave(code);
}

EXPORT unsigned cudaDeviceSynchronize(void)
{
    unsigned code = enter();
    trace("wait for the device");
    if (!code && queue_is_gathering())
        code = CAPTURE_UNSUPPORTED;
    if (!code)
        queue_run_all();
    return leave(code);
}

/* ---- events ---- */

EXPORT unsigned cudaEventCreateWithFlags(struct CUevent_st **ret_event, unsigned flags)
{
    unsigned code = enter();
    struct CUevent_st *e = code ? NULL : calloc(1, sizeof *e);
    (void)flags;
    if (e) {
        e->device = current_device();
        e->number = ++event_numbers;
        e->next = events;
        events = *ret_event = e;
        trace("event %llu", (unsigned long long)e->number);
    }
    return leave(code);
}

static struct CUevent_st **find_event(const struct CUevent_st *e)
{
    struct CUevent_st **at = &events;
    while (*at && *at != e)
        at = &(*at)->next;
    return *at ? at : NULL;
}

EXPORT unsigned cudaEventDestroy(struct CUevent_st *e)
{
    unsigned code = enter();
    struct CUevent_st **at = find_event(e);
    if (!at)
        return leave(INVALID_RESOURCE_HANDLE);
    trace("event destroy %llu", (unsigned long long)e->number);
    *at = e->next;
    mark_release(e->mark);
    free(e);
    return leave(code);
}

EXPORT unsigned cudaEventRecord(struct CUevent_st *e, stream *s)
{
    unsigned code = enter();
    if (!code && (!find_event(e) || check_stream(s) || (s && s->device != e->device)))
        code = INVALID_RESOURCE_HANDLE;
    if (code)
        return leave(code);
    trace("record event %llu stream %llu", (unsigned long long)e->number, number(s));
    e->capture = s ? s->capture : NULL;
    if (e->capture) /* a place in the graph, whose works keep the order of the calls */
        return leave(OK);
    work *w = calloc(1, sizeof *w);
    mark *m = calloc(1, sizeof *m);
    if (!w || !m) {
        free(w);
        free(m);
        return leave(MEMORY_ALLOCATION);
    }
    *m = (mark){.stream = s, .refs = 2};
    *w = (work){.kind = WORK_MARK, .mark = m};
    mark_release(e->mark);
    e->mark = m;
    queue_add(s, w);
    return leave(OK);
}

EXPORT unsigned cudaStreamWaitEvent(stream *s, struct CUevent_st *e, unsigned flags)
{
    unsigned code = enter();
    (void)flags;
    if (!code && (!find_event(e) || check_stream(s)))
        code = INVALID_RESOURCE_HANDLE;
    if (code)
        return leave(code);
    trace("wait event %llu stream %llu", (unsigned long long)e->number, number(s));
    if (e->capture) { /* the stream joins the graph */
        if (s && !s->capture && !s->first)
            s->capture = e->capture;
        return leave(s && s->capture == e->capture ? OK : CAPTURE_UNSUPPORTED);
    }
    work *w = e->mark ? calloc(1, sizeof *w) : NULL;
    if (w) {
        *w = (work){.kind = WORK_WAIT, .mark = e->mark};
        e->mark->refs++;
        if (s && s->capture) { /* of what came before the graph: nothing to keep */
            s->invalid = true;
            work_free(w);
            return leave(CAPTURE_UNSUPPORTED);
        }
        queue_add(s, w);
    }
    return leave(OK);
}

/* Neither of an event that stands for a place in a graph, nor while a graph is gathered. */
static unsigned may_ask(const struct CUevent_st *e)
{
    if (e->capture)
        return CAPTURED_EVENT;
    return queue_is_gathering() ? CAPTURE_UNSUPPORTED : OK;
}

/* Whoever asks again and again gets there: each question lets a piece of work be done. */
EXPORT unsigned cudaEventQuery(struct CUevent_st *e)
{
    unsigned code = enter();
    if (!code && !find_event(e))
        code = INVALID_RESOURCE_HANDLE;
    if (!code)
        code = may_ask(e);
    if (code || !e->mark || e->mark->done)
        return leave(code);
    if (queue_is_stream(e->mark->stream) && e->mark->stream->first)
        (void)run_first(e->mark->stream);
    return leave(e->mark->done ? OK : NOT_READY);
}

EXPORT unsigned cudaEventSynchronize(struct CUevent_st *e)
{
    unsigned code = enter();
    if (!code && !find_event(e))
        code = INVALID_RESOURCE_HANDLE;
    trace("wait for event %llu", code ? 0 : (unsigned long long)e->number);
    if (!code)
        code = may_ask(e);
    if (!code && e->mark)
        run_to_mark(e->mark);
    return leave(code);
}

EXPORT unsigned cudaEventElapsedTime(float *ret_ms, const struct CUevent_st *from,
                                     const struct CUevent_st *to)
{
    unsigned code = enter();
    if (!code && (!find_event(from) || !find_event(to) || !from->mark || !to->mark))
        code = INVALID_RESOURCE_HANDLE;
    if (!code && (!from->mark->done || !to->mark->done))
        code = NOT_READY;
    if (!code)
        *ret_ms = (float)((double)(to->mark->done - from->mark->done) * 1e-6);
    return leave(code);
}

void queue_leave_capture(const graph_body *g)
{
    for (stream *s = streams; s; s = s->next)
        if (s->capture == g) {
            s->capture = NULL;
            s->into = NULL;
            s->began_capture = s->invalid = false;
        }
    for (struct CUevent_st *e = events; e; e = e->next)
        if (e->capture == g)
            e->capture = NULL;
}

uint64_t queue_leaks(uint64_t *ret_events)
{
    uint64_t count = 0;
    for (const struct CUevent_st *e = events; e; e = e->next)
        ++*ret_events;
    for (const stream *s = streams; s; s = s->next)
        count++;
    return count;
}
