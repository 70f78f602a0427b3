/* cuda.c - the backend of NVIDIA's GPUs: finding, describing, opening and closing them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "device/cuda/device_calls.h"
#include "tutti_host/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST = 80, ALIGNMENT = 256 };

static tutti_status no_driver(const cudart *rt, tutti_error *err)
{
    int driver = 0, runtime = 0;
    (void)rt->cudaDriverGetVersion(&driver);
    (void)rt->cudaRuntimeGetVersion(&runtime);
    if (!driver)
        return tutti_fail(
            err, TUTTI_E_NOTFOUND,
            "cuda: there is no NVIDIA driver, the runtime of CUDA %d.%d wants one",
            runtime / 1000, runtime % 1000 / 10);
    return tutti_fail(
        err, TUTTI_E_UNSUPPORTED,
        "cuda: the NVIDIA driver is made for CUDA %d.%d, too old for the runtime of "
        "CUDA %d.%d",
        driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

static tutti_status find(const cudart **ret_rt, uint32_t *ret_count, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    int n = 0;
    const tutti_status s = cudart_get(ret_rt, &why);
    if (s)
        return tutti_fail(err, s, "cuda: %s", why.text);
    const cudart *rt = *ret_rt;
    const unsigned int code = rt->cudaGetDeviceCount(&n);
    if (code)
        (void)rt->cudaGetLastError(); /* nobody else is to find it */
    if (code == CUDART_INSUFFICIENT_DRIVER)
        return no_driver(rt, err);
    if (code == CUDART_NO_DEVICE || (!code && n <= 0))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "cuda: there is no GPU in this machine");
    if (code)
        return tutti_fail(err, TUTTI_E_FAIL, "cuda: %s (%s)", rt->cudaGetErrorString(code),
                          rt->cudaGetErrorName(code));
    *ret_count = (uint32_t)n;
    return TUTTI_OK;
}

static uint32_t count_devices(void *self)
{
    const cudart *rt;
    uint32_t n = 0;
    return find(&rt, &n, NULL) ? 0 : n;
}

static int attribute(const cudart *rt, unsigned int which, uint32_t index)
{
    int value = 0;
    if (rt->cudaDeviceGetAttribute(&value, which, (int)index) == CUDART_SUCCESS)
        return value;
    (void)rt->cudaGetLastError();
    return 0;
}

static int capability(const cudart *rt, uint32_t index)
{
    return 10 * attribute(rt, CUDART_ATTR_MAJOR, index) +
           attribute(rt, CUDART_ATTR_MINOR, index);
}

static void get_name(const cudart *rt, uint32_t index, char name[64])
{
    union {
        char bytes[CUDART_PROP_BYTES];
        void *align;
    } prop;
    memset(&prop, 0, sizeof prop);
    if (rt->cudaGetDeviceProperties((struct cudaDeviceProp *)&prop, (int)index) ||
        !prop.bytes[0]) {
        (void)rt->cudaGetLastError();
        (void)snprintf(prop.bytes, sizeof prop.bytes, "a GPU");
    }
    (void)snprintf(name, 64, "%.63s", prop.bytes);
}

static tutti_status describe(void *self, uint32_t index, tutti_device_info *ret_info,
                             tutti_error *err)
{
    const cudart *rt;
    uint32_t count = 0;
    const tutti_status s = find(&rt, &count, err);
    if (s)
        return s;
    if (index >= count)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "cuda: there is no device %u, this machine has %u", index, count);
    tutti_device_info info = {.struct_size = ret_info->struct_size,
                              .flags = TUTTI_DEVICE_ASYNC | TUTTI_DEVICE_ADDS |
                                       TUTTI_DEVICE_SUMS | TUTTI_DEVICE_MASKS |
                                       TUTTI_DEVICE_HALVES | TUTTI_DEVICE_GROUPS |
                                       TUTTI_DEVICE_HALF_RESULTS | TUTTI_DEVICE_LOSS_GRADS,
                              .dtypes = (1u << DTYPE_END) - 2,
                              .alignment = ALIGNMENT,
                              .kernels = "cuda"};
    get_name(rt, index, info.name);
    memcpy(ret_info, &info,
           ret_info->struct_size < sizeof info ? ret_info->struct_size : sizeof info);
    return TUTTI_OK;
}

static void *stream_now(void *ctx)
{
    return ((const cuda_device *)ctx)->streams.current;
}

static tutti_status symbol(void *ctx, const char *library, const char *name, void **ret_symbol,
                           tutti_error *err)
{
    cuda_enter(ctx); /* who asks is about to call it */
    return library_symbol(library, name, ret_symbol, err);
}

static void close_device(void *device)
{
    cuda_device *d = device;
    cuda_enter(d);
    cuda_profile_close(d);
    (void)d->rt->cudaDeviceSynchronize();
    while (d->objects) {
        cuda_object *next = d->objects->next;
        d->objects->destroy(d->objects->object);
        free(d->objects);
        d->objects = next;
    }
    code_unload(d);
    for (int k = 0; k < STEPS_AHEAD; k++)
        cuda_unpin(d, &d->steps.ring[k]);
    for (int k = 0; k < STAGES; k++)
        cuda_unpin(d, &d->staging.large[k]);
    cuda_forget_smalls(d);
    if (d->faults.seen)
        (void)d->rt->cudaFreeHost((void *)(uintptr_t)d->faults.seen);
    cuda_release(d, d->shared);
    if (d->streams.own)
        (void)d->rt->cudaStreamDestroy(d->streams.own);
    if (d->streams.clearing)
        (void)d->rt->cudaStreamDestroy(d->streams.clearing);
    if (d->blocks.stream)
        (void)d->rt->cudaStreamDestroy(d->blocks.stream);
    while (d->heap.pieces) { /* of memory that nobody gave back */
        memory_piece *next = d->heap.pieces->next;
        free(d->heap.pieces);
        d->heap.pieces = next;
    }
    names_fini(&d->history.names);
    choices_fini(&d->tuned.known);
    free(d);
}

static tutti_status make_streams(cuda_device *d, tutti_error *err)
{
    tutti_status s = cuda_check(
        d, d->rt->cudaStreamCreateWithFlags(&d->streams.own, CUDART_STREAM_NON_BLOCKING),
        "a stream", err);
    if (!s)
        s = cuda_check(
            d,
            d->rt->cudaStreamCreateWithFlags(&d->streams.clearing, CUDART_STREAM_NON_BLOCKING),
            "a stream", err);
    d->streams.current = d->streams.own;
    return s;
}

/* TUTTI_CUDA_ALLOW is "tf32", "unordered" or both, TUTTI_CUDA_GRAPHS "0" or "1"; the run's own word
 * comes first. */
static tutti_cuda_settings wanted(const tutti_cuda_settings *given)
{
    const char *allow = getenv("TUTTI_CUDA_ALLOW"), *graphs = getenv("TUTTI_CUDA_GRAPHS");
    tutti_cuda_settings w = {.graphs = -1, .tf32 = -1, .unordered = -1};
    if (given)
        w = *given;
    if (w.graphs < 0)
        w.graphs = !graphs || strcmp(graphs, "0") != 0;
    if (w.tf32 < 0)
        w.tf32 = allow && strstr(allow, "tf32");
    if (w.unordered < 0)
        w.unordered = allow && strstr(allow, "unordered");
    return w;
}

static tutti_status open_device(void *self, uint32_t index, void **ret_device, tutti_error *err)
{
    const cudart *rt;
    uint32_t count = 0;
    tutti_status s = find(&rt, &count, err);
    if (s)
        return s;
    const int able = capability(rt, index);
    if (able < OLDEST) {
        char name[64];
        get_name(rt, index, name);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "cuda:%u: %s has compute capability %d.%d, want 8.0 or newer", index,
                          name, able / 10, able % 10);
    }
    cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a device");
    d->rt = rt;
    d->index = (int)index;
    (void)snprintf(d->label, sizeof d->label, "cuda:%u", index);
    get_name(rt, index, d->name);
    d->wanted = wanted(self);
    cuda_enter(d);
    d->kernels = (tutti_cuda_v1){
        .struct_size = sizeof d->kernels,
        .capability = able,
        .multiprocessors = attribute(rt, CUDART_ATTR_MULTIPROCESSORS, index),
        .shared_bytes = (uint32_t)attribute(rt, CUDART_ATTR_SHARED_OPTIN, index),
        .ctx = d,
        .function = code_function,
        .launch = code_launch,
        .stream = stream_now,
        .symbol = symbol,
        .object = cuda_object_of,
        .allow = (d->wanted.tf32 ? TUTTI_CUDA_TF32 : 0u) |
                 (d->wanted.unordered ? TUTTI_CUDA_UNORDERED : 0u) |
                 (d->wanted.require ? TUTTI_CUDA_LIBRARIES : 0u),
        .recall = cuda_recall,
        .keep = cuda_keep};
    if ((s = make_streams(d, err)) || (s = cuda_make_steps(d, err)) || (s = own_load(d, err)) ||
        (s = cuda_profile_open(d, err))) {
        close_device(d);
        return s;
    }
    *ret_device = d;
    return TUTTI_OK;
}

static const tutti_cuda_v1 *kernels_of(void *device)
{
    return &((cuda_device *)device)->kernels;
}

const tutti_device_v1 *tutti_device_cuda(void)
{
    static const tutti_device_v1 table = {.struct_size = sizeof table,
                                          .count = count_devices,
                                          .describe = describe,
                                          .open = open_device,
                                          .close = close_device,
                                          .memory = cuda_memory,
                                          .alloc = cuda_alloc,
                                          .release = cuda_release,
                                          .copy = cuda_copy,
                                          .fill = cuda_fill,
                                          .random = cuda_random,
                                          .stream_create = cuda_stream_create,
                                          .stream_destroy = cuda_stream_destroy,
                                          .event_create = cuda_event_create,
                                          .event_destroy = cuda_event_destroy,
                                          .event_record = cuda_event_record,
                                          .event_wait = cuda_event_wait,
                                          .event_done = cuda_event_done,
                                          .synchronise = cuda_synchronise,
                                          .launch = cuda_launch,
                                          .step = cuda_step,
                                          .cuda = kernels_of,
                                          .capture_begin = cuda_capture_begin,
                                          .capture_end = cuda_capture_end,
                                          .replay = cuda_replay,
                                          .graph_nodes = cuda_graph_nodes,
                                          .graph_destroy = cuda_graph_destroy,
                                          .add = cuda_add,
                                          .clear_unless = cuda_clear_unless,
                                          .host_alloc = cuda_host_alloc,
                                          .host_release = cuda_host_release,
                                          .block = cuda_block};
    return &table;
}
