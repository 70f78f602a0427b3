/* blocks.c - parts of a graph that the device does or leaves out by a number of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

extern const tutti_cuda_image CUDA_CONDITION_IMAGE; /* condition.cu */

/* Nothing can be loaded while a graph is gathered, so this comes before: whoever gathers has done the same
 * work without a graph.  What is lacking is no error. */
static void prepare(cuda_device *d)
{
    static const uint32_t sizes[] = {sizeof(unsigned long long), sizeof(float *)};
    cuda_blocks *b = &d->blocks;
    void *function = NULL;
    int driver = 0;
    b->tried = true;
    if (!d->rt->conditions || d->rt->cudaDriverGetVersion(&driver) ||
        driver < CUDART_CONDITION_DRIVER ||
        code_function(d, &CUDA_CONDITION_IMAGE, "own_set_condition", sizes, 2, &function, NULL))
        return;
    const unsigned int code =
        d->rt->cudaStreamCreateWithFlags(&b->stream, CUDART_STREAM_NON_BLOCKING);
    b->set = function;
    b->on = cuda_check(d, code, "a stream", NULL) == TUTTI_OK;
}

/* The stream's work goes on behind a node with two bodies, which a kernel before it chooses from. */
static unsigned int add_node(cuda_device *d, const float *guard, cudart_condition *node)
{
    const cudart *rt = d->rt;
    const struct dim3 one = {1, 1, 1};
    const struct cudaGraphEdgeData_st *edges = NULL;
    struct CUgraphNode_st *const *after = NULL, *made = NULL;
    struct CUgraph_st *graph = NULL;
    unsigned int status = 0;
    size_t count = 0;
    void *args[] = {&node->handle, (void *)&guard};
    unsigned int code = rt->cudaStreamGetCaptureInfo(d->capture.stream, &status, NULL, &graph,
                                                     NULL, NULL, NULL);
    if (!code && status != CUDART_CAPTURE_ACTIVE)
        code = CUDART_CAPTURE_INVALIDATED;
    if (!code)
        code = rt->cudaGraphConditionalHandleCreate(&node->handle, graph, 0, 0);
    if (!code)
        code =
            rt->cudaLaunchKernel(d->blocks.set->kernel, one, one, args, 0, d->capture.stream);
    if (!code)
        code = rt->cudaStreamGetCaptureInfo(d->capture.stream, &status, NULL, &graph, &after,
                                            &edges, &count);
    if (!code)
        code = rt->cudaGraphAddNode(&made, graph, after, edges, count, (void *)node);
    return code ? code
                : rt->cudaStreamUpdateCaptureDependencies(d->capture.stream, &made, NULL, 1,
                                                          CUDART_SET_DEPENDENCIES);
}

static unsigned int begin_body(cuda_device *d, struct CUgraph_st *body)
{
    cuda_blocks *b = &d->blocks;
    const unsigned int code = d->rt->cudaStreamBeginCaptureToGraph(
        b->stream, body, NULL, NULL, 0, CUDART_CAPTURE_THREAD_LOCAL);
    b->inside = !code;
    return code;
}

/* The body's graph belongs to the node. */
static unsigned int end_body(cuda_device *d)
{
    struct CUgraph_st *body = NULL;
    d->blocks.inside = false;
    return d->rt->cudaStreamEndCapture(d->blocks.stream, &body);
}

void cuda_blocks_end(cuda_device *d)
{
    if (d->blocks.inside)
        (void)end_body(d);
}

static tutti_status begin(cuda_device *d, void *on, const float *guard, tutti_error *err)
{
    cuda_blocks *b = &d->blocks;
    cudart_condition node = {
        .type = CUDART_NODE_CONDITIONAL, .kind = CUDART_CONDITION_IF, .size = 2};
    if (!d->capture.active && d->wanted.graphs && !b->tried)
        prepare(d);
    if (!d->capture.active || !b->on || (on && on != d->capture.stream))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: no block can be gathered", d->label);
    b->used = true;
    unsigned int code = add_node(d, guard, &node);
    if (!code)
        code = begin_body(d, node.bodies[0]);
    if (!code)
        b->otherwise = node.bodies[1];
    return cuda_check(d, code, "a block of a graph", err);
}

tutti_status cuda_block(void *device, void *on, int32_t part, const float *guard,
                        tutti_error *err)
{
    cuda_device *d = device;
    cuda_enter(d);
    if (part == TUTTI_BLOCK_IF)
        return begin(d, on, guard, err);
    if (!d->blocks.inside)
        return tutti_fail(err, TUTTI_E_STATE, "%s: no block of a graph is open", d->label);
    unsigned int code = end_body(d);
    if (!code && part == TUTTI_BLOCK_ELSE)
        code = begin_body(d, d->blocks.otherwise);
    return cuda_check(d, code, "a block of a graph", err);
}
