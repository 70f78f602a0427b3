/* conditions_test.c - conditional nodes of the stand-in: one body or the other, and what is refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin_check.h"

/* A graph with one conditional node. */
typedef struct rig {
    stream *s, *body;
    unsigned *value; /* on the device */
    int *counts[2];
    cudart_condition node;
    struct CUgraph_st *graph;
    struct CUgraphNode_st *made;
} rig;

static void open_rig(rig *r, const char *wanted)
{
    set_up(wanted);
    *r = (rig){.s = make_stream(), .body = make_stream(), .value = take(64)};
    r->node = (cudart_condition){
        .type = CUDART_NODE_CONDITIONAL, .kind = CUDART_CONDITION_IF, .size = 2};
    for (int k = 0; k < 2; k++) {
        r->counts[k] = take(256);
        ok(cudaMemsetAsync(r->counts[k], 0, 256, r->s));
    }
    ok(cudaStreamSynchronize(r->s));
    bring("count_all");
    bring("set_condition");
    ok(cudaStreamBeginCapture(r->s, CUDART_CAPTURE_THREAD_LOCAL));
}

static void set_value(const rig *r, unsigned value)
{
    ok(cudaMemcpyAsync(r->value, &value, sizeof value, CUDART_TO_DEVICE, r->s));
}

static struct CUgraph_st *gathered(const rig *r)
{
    unsigned status = 0;
    struct CUgraph_st *graph = NULL;
    ok(cudaStreamGetCaptureInfo(r->s, &status, NULL, &graph, NULL, NULL, NULL));
    ck_assert_uint_eq(status, CUDART_CAPTURE_ACTIVE);
    return graph;
}

static unsigned add(rig *r)
{
    unsigned status = 0;
    struct CUgraph_st *graph = NULL;
    struct CUgraphNode_st *const *after = NULL;
    const struct cudaGraphEdgeData_st *edges = NULL;
    size_t count = 0;
    ok(cudaStreamGetCaptureInfo(r->s, &status, NULL, &graph, &after, &edges, &count));
    return cudaGraphAddNode(&r->made, graph, after, edges, count, (void *)&r->node);
}

static void set_by_kernel(rig *r)
{
    ok(cudaGraphConditionalHandleCreate(&r->node.handle, gathered(r), 0, 0));
    ok(cudaLaunchKernel(kernel("set_condition"), (struct dim3){1, 1, 1}, (struct dim3){1, 1, 1},
                        (void *[]){&r->node.handle, &r->value}, 0, r->s));
}

static unsigned follow(const rig *r)
{
    struct CUgraphNode_st *made = r->made;
    return cudaStreamUpdateCaptureDependencies(r->s, &made, NULL, 1, CUDART_SET_DEPENDENCIES);
}

/* A body counts in its own place. */
static void fill_body(rig *r, int k)
{
    struct CUgraph_st *body = NULL;
    ok(cudaStreamBeginCaptureToGraph(r->body, r->node.bodies[k], NULL, NULL, 0,
                                     CUDART_CAPTURE_THREAD_LOCAL));
    ok(launch("count_all", 64, r->counts[k], r->body));
    ok(cudaStreamEndCapture(r->body, &body));
    ck_assert_ptr_eq(body, r->node.bodies[k]);
}

static struct CUgraphExec_st *finish(rig *r)
{
    struct CUgraphExec_st *exec = NULL;
    ok(cudaStreamEndCapture(r->s, &r->graph));
    ok(cudaGraphInstantiate(&exec, r->graph, 0));
    return exec;
}

static int counted(const rig *r, int k)
{
    int n = -1;
    ok(cudaMemcpyAsync(&n, r->counts[k], sizeof n, CUDART_TO_HOST, r->s));
    return n;
}

START_TEST(a_number_on_the_device_chooses_the_body)
{
    rig r;
    open_rig(&r, "");
    set_by_kernel(&r);
    ok(add(&r));
    ok(follow(&r));
    fill_body(&r, 0);
    fill_body(&r, 1);
    struct CUgraphExec_st *exec = finish(&r);
    for (unsigned k = 0; k < 5; k++) {
        set_value(&r, k % 3); /* 0 1 2 0 1 */
        ok(cudaGraphLaunch(exec, r.s));
    }
    ck_assert_int_eq(counted(&r, 0), 3);
    ck_assert_int_eq(counted(&r, 1), 2);
    ok(cudaGraphDestroy(r.graph)); /* and with it its conditions */
    ck_assert_uint_eq(cudaGraphLaunch(exec, r.s), INVALID_VALUE);
    ok(cudaGraphExecDestroy(exec));
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_graph_that_cannot_be_right_is_not_made)
{
    rig r;
    struct CUgraph_st *graph = NULL;
    struct CUgraphExec_st *exec = NULL, *more = NULL;
    open_rig(&r, _i == 0 ? "conditions=0" : "");
    switch (_i) {
    case 0: /* an older driver */
        ck_assert_uint_eq(cudaGraphConditionalHandleCreate(&r.node.handle, gathered(&r), 0, 0),
                          NOT_SUPPORTED);
        break;
    case 1: /* nothing before it could set its condition */
        ok(cudaGraphConditionalHandleCreate(&r.node.handle, gathered(&r), 0, 0));
        ck_assert_uint_eq(add(&r), INVALID_VALUE);
        break;
    case 2: /* what follows would not wait for it */
        set_by_kernel(&r);
        ok(add(&r));
        ok(launch("count_all", 64, r.counts[0], r.s));
        ck_assert_uint_eq(cudaStreamEndCapture(r.s, &graph), CAPTURE_INVALIDATED);
        break;
    case 3: /* a condition without a node */
        set_by_kernel(&r);
        ok(cudaStreamEndCapture(r.s, &graph));
        ck_assert_uint_eq(cudaGraphInstantiate(&exec, graph, 0), INVALID_VALUE);
        ok(cudaGraphDestroy(graph));
        break;
    case 4: /* bodies are the node's, and there is one instance */
        set_by_kernel(&r);
        ok(add(&r));
        ok(follow(&r));
        ck_assert_uint_eq(cudaGraphDestroy(r.node.bodies[0]), INVALID_VALUE);
        ck_assert_uint_eq(cudaGraphInstantiate(&exec, r.node.bodies[0], 0), INVALID_VALUE);
        exec = finish(&r);
        ck_assert_uint_eq(cudaGraphInstantiate(&more, r.graph, 0), INVALID_VALUE);
        ok(cudaGraphExecDestroy(exec));
        ok(cudaGraphDestroy(r.graph));
        break;
    case 5: /* a body that is still open */
        set_by_kernel(&r);
        ok(add(&r));
        ok(follow(&r));
        ok(cudaStreamBeginCaptureToGraph(r.body, r.node.bodies[0], NULL, NULL, 0,
                                         CUDART_CAPTURE_THREAD_LOCAL));
        ck_assert_uint_eq(cudaStreamEndCapture(r.s, &graph), CAPTURE_UNJOINED);
        break;
    default: /* bytes that must be zero */
        set_by_kernel(&r);
        r.node.more_zeros[3] = 1;
        ck_assert_uint_eq(add(&r), INVALID_VALUE);
    }
    (void)unlink(trace_path);
}
END_TEST

START_TEST(a_condition_is_set_within_its_graph_alone)
{
    rig r;
    open_rig(&r, "seed=0");
    set_by_kernel(&r);
    ok(add(&r));
    ok(follow(&r));
    struct CUgraphExec_st *exec = finish(&r);
    set_value(&r, 1);
    ok(cudaGraphLaunch(exec, r.s));
    ok(cudaStreamSynchronize(r.s));
    ok(cudaGraphExecDestroy(exec));
    ok(cudaGraphDestroy(r.graph));
    ok(cudaLaunchKernel(kernel("set_condition"), (struct dim3){1, 1, 1}, (struct dim3){1, 1, 1},
                        (void *[]){&r.node.handle, &r.value}, 0, r.s));
    ck_assert_uint_eq(cudaStreamSynchronize(r.s), LAUNCH_FAILURE);
    ck_assert_str_eq(
        cudaGetErrorString(LAUNCH_FAILURE),
        "unspecified launch failure (set_condition, block (0, 0, 0): thread (0, 0, "
        "0): it sets a condition outside of a graph)");
    (void)unlink(trace_path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("conditions");
    TCase *t = tcase_create("runtime");
    tcase_add_test(t, a_number_on_the_device_chooses_the_body);
    tcase_add_loop_test(t, a_graph_that_cannot_be_right_is_not_made, 0, 7);
    tcase_add_test(t, a_condition_is_set_within_its_graph_alone);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
