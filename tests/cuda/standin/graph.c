/* graph.c - work gathered from streams, done again each time that the graph is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdlib.h>

struct CUgraph_st {
    graph_body *body;
    uint64_t number;
    bool owned; /* by a node: nobody destroys or instantiates it */
};
struct CUgraphExec_st {
    graph_body *body;
    uint64_t number;
};

static uint64_t numbers, alive;

void graph_add(graph_body *g, work *w)
{
    *g->end = g->last = w;
    g->end = &w->next;
    g->nwork++;
}

void graph_body_release(graph_body *g)
{
    if (--g->refs)
        return;
    conditions_free(g);
    while (g->first) {
        work *next = g->first->next;
        work_free(g->first);
        g->first = next;
    }
    free(g);
}

void graph_run(const graph_body *g)
{
    conditions_begin(g);
    for (const work *w = g->first; w && !is_bad(); w = w->next)
        work_run(w);
}

static struct CUgraph_st *graph_new(void)
{
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    graph_body *g = calloc(1, sizeof *g);
    if (!graph || !g) {
        free(graph);
        free(g);
        return NULL;
    }
    g->refs = 1;
    g->end = &g->first;
    graph->body = g;
    return graph;
}

struct CUgraph_st *graph_new_body(graph_body *of)
{
    struct CUgraph_st *graph = graph_new();
    if (graph) {
        graph->owned = true;
        graph->number = ++numbers;
        graph->body->of = of;
    }
    return graph;
}

void graph_free(struct CUgraph_st *graph)
{
    graph_body_release(graph->body);
    free(graph);
}

graph_body *graph_of(const struct CUgraph_st *graph)
{
    return graph->body;
}

static void begin(stream *s, struct CUgraph_st *graph, unsigned mode)
{
    s->into = graph;
    s->capture = graph->body;
    s->began_capture = true;
    s->invalid = false;
    s->mode = mode;
    s->thread = queue_thread();
}

EXPORT unsigned cudaStreamBeginCapture(stream *s, unsigned mode)
{
    unsigned code = enter();
    if (!code && mode > CAPTURE_RELAXED)
        code = INVALID_VALUE;
    if (!code && (!s || !queue_is_stream(s) || s->capture))
        code = CAPTURE_UNSUPPORTED;
    struct CUgraph_st *graph = code ? NULL : graph_new();
    if (graph) {
        begin(s, graph, mode);
        trace("capture begins stream %llu", (unsigned long long)s->number);
    }
    return leave(code);
}

EXPORT unsigned cudaStreamBeginCaptureToGraph(stream *s, struct CUgraph_st *graph,
                                              work *const *after, const void *edges,
                                              size_t count, unsigned mode)
{
    unsigned code = enter();
    (void)edges;
    if (!code && (mode > CAPTURE_RELAXED || count || after || !graph || !graph->owned))
        code =
            INVALID_VALUE; /* into bodies alone, from their beginning: more is not needed here */
    if (!code && (!s || !queue_is_stream(s) || s->capture || graph->body->nwork))
        code = CAPTURE_UNSUPPORTED;
    if (!code) {
        begin(s, graph, mode);
        graph->body->of->open++;
        trace("capture begins stream %llu: graph %llu", (unsigned long long)s->number,
              (unsigned long long)graph->number);
    }
    return leave(code);
}

/* The graph stays with its node. */
static unsigned end_body(stream *s, struct CUgraph_st **ret_graph)
{
    struct CUgraph_st *graph = s->into;
    const bool invalid = s->invalid;
    graph->body->of->open--;
    queue_leave_capture(graph->body);
    trace("capture %s stream %llu: graph %llu of %u", invalid ? "fails" : "ends",
          (unsigned long long)s->number, (unsigned long long)graph->number, graph->body->nwork);
    if (!invalid)
        *ret_graph = graph;
    return leave(invalid ? CAPTURE_INVALIDATED : OK);
}

EXPORT unsigned cudaStreamEndCapture(stream *s, struct CUgraph_st **ret_graph)
{
    unsigned code = enter();
    *ret_graph = NULL;
    if (!code && (!s || !queue_is_stream(s) || !s->began_capture))
        code = CAPTURE_UNMATCHED;
    if (!code && s->mode != CAPTURE_RELAXED && s->thread != queue_thread())
        code = CAPTURE_WRONG_THREAD;
    if (code)
        return leave(code);
    struct CUgraph_st *graph = s->into;
    graph_body *g = graph->body;
    if (graph->owned)
        return end_body(s, ret_graph);
    const bool invalid = s->invalid || !standin_settings()->captures, unjoined = g->open > 0;
    queue_leave_capture(g);
    if (invalid || unjoined) {
        trace("capture fails stream %llu", (unsigned long long)s->number);
        graph_free(graph);
        return leave(unjoined ? CAPTURE_UNJOINED : CAPTURE_INVALIDATED);
    }
    graph->number = ++numbers;
    alive++;
    *ret_graph = graph;
    trace("capture ends stream %llu: graph %llu of %u", (unsigned long long)s->number,
          (unsigned long long)graph->number, g->nwork);
    return leave(OK);
}

EXPORT unsigned cudaStreamIsCapturing(const stream *s, unsigned *ret_status)
{
    const unsigned code = enter();
    *ret_status = s && s->capture ? (s->invalid ? 2 : 1) : 0;
    return leave(code);
}

EXPORT unsigned cudaGraphGetNodes(const struct CUgraph_st *graph, work **nodes,
                                  size_t *ret_count)
{
    const unsigned code = enter();
    if (nodes || !graph) /* their count alone is needed here */
        return leave(INVALID_VALUE);
    *ret_count = graph->body->nwork;
    return leave(code);
}

EXPORT unsigned cudaGraphInstantiate(struct CUgraphExec_st **ret_exec,
                                     const struct CUgraph_st *graph, unsigned long long flags)
{
    unsigned code = enter();
    (void)flags;
    if (!code && (graph->owned || !conditions_are_whole(graph->body)))
        code = INVALID_VALUE;
    struct CUgraphExec_st *e = code ? NULL : calloc(1, sizeof *e);
    if (e) {
        e->body = graph->body;
        e->body->refs++;
        e->body->execs++;
        e->number = graph->number;
        alive++;
        *ret_exec = e;
        trace("instantiate graph %llu", (unsigned long long)e->number);
    }
    return leave(code);
}

EXPORT unsigned cudaGraphLaunch(const struct CUgraphExec_st *e, stream *s)
{
    unsigned code = enter();
    if (!code && s && !queue_is_stream(s))
        code = INVALID_RESOURCE_HANDLE;
    if (!code && s && s->capture && e->body->conditions) /* no node of another graph */
        code = CAPTURE_UNSUPPORTED;
    if (!code && e->body->conditions && e->body->gone)
        code = INVALID_VALUE;
    if (!code && e->body->conditions && standin_settings()->conditions == 2)
        code = NOT_SUPPORTED;
    work *w = code ? NULL : calloc(1, sizeof *w);
    if (w) {
        *w = (work){.kind = WORK_GRAPH, .graph = e->body};
        e->body->refs++;
        trace("launch graph %llu stream %llu", (unsigned long long)e->number,
              s ? (unsigned long long)s->number : 0);
        queue_add(s, w);
    }
    return leave(code);
}

EXPORT unsigned cudaGraphDestroy(struct CUgraph_st *graph)
{
    const unsigned code = enter();
    if (graph->owned)
        return leave(INVALID_VALUE);
    graph->body->gone = true;
    graph_free(graph);
    alive--;
    return leave(code);
}

EXPORT unsigned cudaGraphExecDestroy(struct CUgraphExec_st *e)
{
    const unsigned code = enter();
    trace("graph destroy %llu", (unsigned long long)e->number);
    e->body->execs--;
    graph_body_release(e->body);
    free(e);
    alive--;
    return leave(code);
}

uint64_t graph_leaks(void)
{
    return alive;
}
