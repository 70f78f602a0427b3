/* conditions.c - nodes of a graph that do one of two bodies, as a kernel before them says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdlib.h>

enum { NODE_CONDITIONAL = 13, TYPE_IF = 0, SET_DEPENDENCIES = 1, IF_WITH_ELSE = 12080 };

/* cudaGraphNodeParams of such a node. */
struct cudaGraphNodeParams {
    int type;
    int zeros[3];
    unsigned long long handle;
    int kind;
    unsigned size;
    struct CUgraph_st **bodies;
    long long more_zeros[27];
};

static const graph_body *running; /* the graph whose kernels run */
static uint64_t handles;

static condition *find(const graph_body *g, uint64_t handle)
{
    condition *c = g ? g->conditions : NULL;
    while (c && c->handle != handle)
        c = c->next;
    return c;
}

static const char *hear(unsigned long long handle, unsigned value)
{
    condition *c = find(running, handle);
    if (!c)
        return running ? "it sets a condition of another graph"
                       : "it sets a condition outside of a graph";
    c->value = value;
    c->set = true;
    return NULL;
}

/* A body runs within its graph. */
void conditions_begin(const graph_body *g)
{
    if (g->of)
        return;
    running = g;
    for (condition *c = g->conditions; c; c = c->next)
        c->set = false;
}

void conditions_decide(const condition *c)
{
    if (!c->set)
        go_bad(LAUNCH_FAILURE, "a conditional node comes before what sets its condition");
    else if (c->value || c->bodies[1])
        graph_run(graph_of(c->bodies[c->value ? 0 : 1]));
    trace("condition %llu was %u", (unsigned long long)c->handle, c->value);
}

bool conditions_are_whole(const graph_body *g)
{
    for (const condition *c = g->conditions; c; c = c->next)
        if (!c->bodies[0] || g->execs)
            return false;
    return true;
}

void conditions_free(graph_body *g)
{
    running = running == g ? NULL : running;
    while (g->conditions) {
        condition *next = g->conditions->next;
        for (int k = 0; k < 2; k++)
            if (g->conditions->bodies[k])
                graph_free(g->conditions->bodies[k]);
        free(g->conditions);
        g->conditions = next;
    }
}

EXPORT unsigned cudaGraphConditionalHandleCreate(unsigned long long *ret_handle,
                                                 const struct CUgraph_st *graph, unsigned value,
                                                 unsigned flags)
{
    unsigned code = enter();
    if (!code && !standin_settings()->conditions)
        code = NOT_SUPPORTED;
    if (!code &&
        (flags ||
         graph_of(graph)->of)) /* no default, and in whole graphs: all that is needed */
        code = INVALID_VALUE;
    condition *c = code ? NULL : calloc(1, sizeof *c);
    if (c) {
        graph_body *g = graph_of(graph);
        *c =
            (condition){.next = g->conditions, .graph = g, .handle = ++handles, .value = value};
        g->conditions = c;
        *ret_handle = c->handle;
        emulator_on_condition(hear);
        trace("condition %llu", (unsigned long long)c->handle);
    }
    return leave(code);
}

/* Of a graph that is gathered.  Who passes no place for the edges' data has none. */
EXPORT unsigned cudaStreamGetCaptureInfo(const stream *s, unsigned *ret_status,
                                         unsigned long long *ret_id,
                                         struct CUgraph_st **ret_graph, work *const **ret_nodes,
                                         const void **ret_edges, size_t *ret_count)
{
    unsigned code = enter();
    if (!code && (!s || !queue_is_stream(s) || (ret_edges && !ret_nodes) ||
                  (ret_graph && s->capture && !s->into)))
        code = INVALID_VALUE;
    if (code)
        return leave(code);
    *ret_status = s->capture ? (s->invalid ? 2 : 1) : 0;
    if (*ret_status != 1)
        return leave(OK);
    if (ret_id)
        *ret_id = s->number;
    if (ret_graph)
        *ret_graph = s->into;
    if (ret_nodes)
        *ret_nodes = &s->capture->last;
    if (ret_edges)
        *ret_edges = NULL;
    if (ret_count)
        *ret_count = s->capture->last != NULL;
    return leave(OK);
}

static bool all_zero(const struct cudaGraphNodeParams *p)
{
    long long bits = p->zeros[0] | p->zeros[1] | p->zeros[2];
    for (size_t k = 0; k < sizeof p->more_zeros / sizeof *p->more_zeros; k++)
        bits |= p->more_zeros[k];
    return bits == 0;
}

static unsigned check_node(const graph_body *g, work *const *after, size_t count,
                           const struct cudaGraphNodeParams *p)
{
    const condition *c = find(g, p->handle);
    if (p->type != NODE_CONDITIONAL || p->kind != TYPE_IF || p->size < 1 || p->size > 2 ||
        !all_zero(p) || !c || c->bodies[0])
        return INVALID_VALUE;
    if (p->size == 2 && standin_settings()->driver < IF_WITH_ELSE)
        return INVALID_VALUE;
    /* NVIDIA's would let the device decide at any time. */
    if (count != 1 || after[0] != g->last || g->loose) {
        trace("a conditional node does not wait for what sets its condition");
        return INVALID_VALUE;
    }
    return OK;
}

static bool make_bodies(condition *c, unsigned size)
{
    for (unsigned k = 0; k < size; k++) {
        c->bodies[k] = graph_new_body(c->graph);
        if (!c->bodies[k])
            return false;
    }
    return true;
}

/* Of conditional nodes alone. */
EXPORT unsigned cudaGraphAddNode(work **ret_node, const struct CUgraph_st *graph,
                                 work *const *after, const void *edges, size_t count,
                                 struct cudaGraphNodeParams *p)
{
    unsigned code = enter();
    graph_body *g = graph_of(graph);
    (void)edges;
    if (!code)
        code = check_node(g, after, count, p);
    work *w = code ? NULL : calloc(1, sizeof *w);
    if (w) {
        condition *c = find(g, p->handle);
        if (!make_bodies(c, p->size))
            abort();
        *w = (work){.kind = WORK_CONDITION, .condition = c};
        graph_add(g, w);
        g->loose = w;
        p->bodies = c->bodies;
        *ret_node = w;
        trace("if condition %llu of %u bodies", (unsigned long long)c->handle, p->size);
    }
    return leave(code);
}

EXPORT unsigned cudaStreamUpdateCaptureDependencies(const stream *s, work *const *nodes,
                                                    const void *edges, size_t count,
                                                    unsigned flags)
{
    unsigned code = enter();
    (void)edges;
    if (!code && (!s || !queue_is_stream(s) || !s->capture))
        code = ILLEGAL_STATE;
    if (!code && (flags > SET_DEPENDENCIES || count != 1 || nodes[0] != s->capture->last))
        code = INVALID_VALUE;
    if (!code)
        s->capture->loose = NULL;
    return leave(code);
}
