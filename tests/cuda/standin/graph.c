/* graph.c - work gathered from streams, done again each time that the graph is launched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdlib.h>

struct CUgraph_st {
    graph_body *body;
    uint64_t number;
};
struct CUgraphExec_st {
    graph_body *body;
    uint64_t number;
};

static uint64_t numbers, alive;

void graph_body_release(graph_body *g)
{
    if (--g->refs)
        return;
    while (g->first) {
        work *next = g->first->next;
        work_free(g->first);
        g->first = next;
    }
    free(g);
}

void graph_run(const graph_body *g)
{
    for (const work *w = g->first; w && !is_bad(); w = w->next)
        work_run(w);
}

EXPORT unsigned cudaStreamBeginCapture(stream *s, unsigned mode)
{
    unsigned code = enter();
    if (!code && mode > CAPTURE_RELAXED)
        code = INVALID_VALUE;
    if (!code && (!s || !queue_is_stream(s) || s->capture))
        code = CAPTURE_UNSUPPORTED;
    graph_body *g = code ? NULL : calloc(1, sizeof *g);
    if (g) {
        g->refs = 1;
        g->end = &g->first;
        s->capture = g;
        s->began_capture = true;
        s->invalid = false;
        s->mode = mode;
        s->thread = queue_thread();
        trace("capture begins stream %llu", (unsigned long long)s->number);
    }
    return leave(code);
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
    graph_body *g = s->capture;
    const bool invalid = s->invalid;
    queue_leave_capture(g);
    struct CUgraph_st *graph = invalid ? NULL : calloc(1, sizeof *graph);
    if (!graph) {
        trace("capture fails stream %llu", (unsigned long long)s->number);
        graph_body_release(g);
        return leave(CAPTURE_INVALIDATED);
    }
    graph->body = g;
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

EXPORT unsigned cudaGraphInstantiate(struct CUgraphExec_st **ret_exec,
                                     const struct CUgraph_st *graph, unsigned long long flags)
{
    unsigned code = enter();
    (void)flags;
    struct CUgraphExec_st *e = code ? NULL : calloc(1, sizeof *e);
    if (e) {
        e->body = graph->body;
        e->body->refs++;
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
    graph_body_release(graph->body);
    free(graph);
    alive--;
    return leave(code);
}

EXPORT unsigned cudaGraphExecDestroy(struct CUgraphExec_st *e)
{
    const unsigned code = enter();
    trace("graph destroy %llu", (unsigned long long)e->number);
    graph_body_release(e->body);
    free(e);
    alive--;
    return leave(code);
}

uint64_t graph_leaks(void)
{
    return alive;
}
