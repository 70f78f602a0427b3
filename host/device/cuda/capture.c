/* capture.c - launches gathered into a CUDA graph, and done again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

#include <stdlib.h>

typedef struct graph {
    struct CUgraphExec_st *exec;
    struct CUgraph_st
        *source; /* where there are blocks: their conditions are made for it; or NULL */
    uint64_t nodes;
    launched what;
} graph;

tutti_status cuda_capture_begin(void *device, void *on, tutti_error *err)
{
    cuda_device *d = device;
    cuda_enter(d);
    if (!d->wanted.graphs)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: no graphs are wanted", d->label);
    if (d->capture.active) /* which goes on */
        return tutti_fail(err, TUTTI_E_STATE, "%s: a graph is being gathered", d->label);
    stream *gathers = cuda_stream_of(d, on);
    const tutti_status s = cuda_check(
        d, d->rt->cudaStreamBeginCapture(gathers, CUDART_CAPTURE_THREAD_LOCAL), "a graph", err);
    d->capture.active = !s;
    d->capture.stream = s ? NULL : gathers;
    d->blocks.used = false;
    d->capture.launches = 0;
    return s;
}

tutti_status cuda_capture_end(void *device, void *on, void **ret_graph, tutti_error *err)
{
    cuda_device *d = device;
    struct CUgraph_st *gathered = NULL;
    cuda_enter(d);
    cuda_blocks_end(d);
    d->capture.active = false;
    d->capture.stream = NULL;
    unsigned int code = d->rt->cudaStreamEndCapture(cuda_stream_of(d, on), &gathered);
    graph *g = ret_graph && !code ? calloc(1, sizeof *g) : NULL;
    size_t nodes = 0;
    if (g && !(code = d->rt->cudaGraphGetNodes(gathered, NULL, &nodes)))
        code = d->rt->cudaGraphInstantiate(&g->exec, gathered, 0);
    if (!code && g && d->blocks.used)
        g->source = gathered;
    else if (gathered)
        (void)d->rt->cudaGraphDestroy(gathered);
    if (code || !g) {
        free(g);
        d->blocks.on = d->blocks.on && !d->blocks.used; /* the next time without */
        d->faults.kept =
            (tutti_error)TUTTI_ERROR_INIT; /* what was not gathered is done otherwise */
        if (!ret_graph) {
            (void)d->rt->cudaGetLastError();
            return TUTTI_OK;
        }
        return code ? cuda_check(d, code, "a graph", err)
                    : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a graph");
    }
    g->nodes = nodes;
    g->what =
        (launched){.mark = d->capture.first,
                   .after = d->capture.launches ? (uint32_t)(d->capture.launches - 1) : 0};
    *ret_graph = g;
    return TUTTI_OK;
}

tutti_status cuda_replay(void *device, void *on, void *given, const tutti_step *step,
                         tutti_error *err)
{
    cuda_device *d = device;
    const graph *g = given;
    stream *s = cuda_stream_of(d, on);
    cuda_enter(d);
    const tutti_status status = cuda_tell_step(d, s, step, err);
    if (status)
        return status;
    d->faults.dirty = true;
    d->history.last[d->history.count++ % LAUNCHES_KEPT] = g->what;
    const unsigned int code = d->rt->cudaGraphLaunch(g->exec, s);
    if (code == CUDART_NOT_SUPPORTED && g->source) {
        (void)d->rt->cudaGetLastError();
        d->blocks.on = false; /* the next one without */
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: a graph with blocks cannot be done",
                          d->label);
    }
    return cuda_check(d, code, "a graph", err);
}

uint64_t cuda_graph_nodes(void *device, void *given)
{
    (void)device;
    return ((const graph *)given)->nodes;
}

void cuda_graph_destroy(void *device, void *given)
{
    cuda_device *d = device;
    graph *g = given;
    if (!g)
        return;
    cuda_enter(d);
    (void)d->rt->cudaGraphExecDestroy(g->exec);
    if (g->source)
        (void)d->rt->cudaGraphDestroy(g->source);
    free(g);
}
