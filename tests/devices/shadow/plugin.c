/* plugin.c - a second backend beside the CPU, with an accelerator's manners, run by the CPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2 };

static uint32_t count(void *self)
{
    return DEVICES;
}

static tutti_status check_index(uint32_t index, tutti_error *err)
{
    return index < DEVICES
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "shadow: there is no device %u", index);
}

static tutti_status describe(void *self, uint32_t index, tutti_device_info *ret_info,
                             tutti_error *err)
{
    const shadow *s = self;
    tutti_device_info info = {.struct_size = ret_info->struct_size,
                              .flags = TUTTI_DEVICE_ASYNC | TUTTI_DEVICE_STEPS |
                                       (s->unified ? TUTTI_DEVICE_HOST_MEMORY : 0) |
                                       s->promises,
                              .dtypes = 1u << TUTTI_F32 | 1u << TUTTI_I32,
                              .alignment = 64,
                              .bytes = s->bytes,
                              .kernels = "cpu"};
    const tutti_status status = check_index(index, err);
    if (status)
        return status;
    (void)snprintf(info.name, sizeof info.name, "shadow %u", index);
    memcpy(ret_info, &info,
           ret_info->struct_size < sizeof info ? ret_info->struct_size : sizeof info);
    return TUTTI_OK;
}

static tutti_status open_device(void *self, uint32_t index, void **ret_device, tutti_error *err)
{
    tutti_status status = check_index(index, err);
    if (status)
        return status;
    device *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for a device");
    d->owner = self;
    d->error = (tutti_error)TUTTI_ERROR_INIT;
    if ((status = shadow_map(d, err))) {
        free(d);
        return status;
    }
    d->owner->counts.devices++;
    *ret_device = d;
    return TUTTI_OK;
}

static void close_device(void *device_)
{
    device *d = device_;
    shadow_work(d);
    d->owner->counts.devices--;
    d->owner->counts.blocks -= d->nblocks;
    shadow_unmap(d);
    free(d->queue);
    free(d);
}

static tutti_status memory(void *device_, uint64_t *ret_free, uint64_t *ret_total,
                           tutti_error *err)
{
    const device *d = device_;
    *ret_free = *ret_total = d->owner->bytes;
    for (size_t k = 0; k < d->nblocks; k++)
        *ret_free -= d->blocks[k].bytes;
    return TUTTI_OK;
}

static tutti_status alloc(void *device_, uint64_t bytes, void **ret_memory, tutti_error *err)
{
    return shadow_alloc(device_, bytes, ret_memory, err);
}

static void release(void *device_, void *memory_)
{
    work *w = memory_ ? shadow_queue(device_, WORK_RELEASE, NULL) : NULL;
    if (w)
        w->to = memory_;
}

static tutti_status check(const device *d, const void *p, bool own, const char *what,
                          tutti_error *err)
{
    if (d->owner->unified || shadow_owns(d, p) == own)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "shadow: %s is %s the device's memory", what,
                      own ? "not in" : "in");
}

static tutti_status copy(void *device_, void *stream, void *to, const void *from,
                         uint64_t bytes, int32_t how, tutti_error *err)
{
    device *d = device_;
    const int32_t way = how & ~TUTTI_COPY_NON_BLOCKING;
    const bool waits = !(how & TUTTI_COPY_NON_BLOCKING);
    tutti_status s = check(d, to, way != TUTTI_COPY_FROM_DEVICE, "a copy's target", err);
    if (s || (s = check(d, from, way != TUTTI_COPY_TO_DEVICE, "a copy's source", err)))
        return s;
    void *staged = NULL;
    if (waits && way == TUTTI_COPY_TO_DEVICE) { /* the host may change it at once */
        staged = malloc(bytes + 1);
        if (!staged)
            return tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory to stage a copy");
        memcpy(staged, from, bytes);
    }
    work *w = shadow_queue(d, WORK_COPY, err);
    if (!w) {
        free(staged);
        return TUTTI_E_NOMEM;
    }
    w->to = to;
    w->from = from;
    w->staged = staged;
    w->bytes = bytes;
    shadow_counts *c = &d->owner->counts;
    ++*(way == TUTTI_COPY_TO_DEVICE     ? &c->to_device
        : way == TUTTI_COPY_FROM_DEVICE ? &c->from_device
                                        : &c->on_device);
    if (!waits || way != TUTTI_COPY_FROM_DEVICE)
        return TUTTI_OK;
    c->waits++;
    shadow_work(d);
    return shadow_error(d, err);
}

static tutti_status fill(void *device_, void *stream, void *memory_, uint8_t byte,
                         uint64_t bytes, tutti_error *err)
{
    const tutti_status s = check(device_, memory_, true, "what is filled", err);
    work *w = s ? NULL : shadow_queue(device_, WORK_FILL, err);
    if (!w)
        return s ? s : TUTTI_E_NOMEM;
    w->to = memory_;
    w->byte = byte;
    w->bytes = bytes;
    return TUTTI_OK;
}

static tutti_status random_numbers(void *device_, void *stream, float *memory_, uint64_t n,
                                   const tutti_device_draw *key, tutti_error *err)
{
    const tutti_status s = check(device_, memory_, true, "what is filled", err);
    work *w = s ? NULL : shadow_queue(device_, WORK_RANDOM, err);
    if (!w)
        return s ? s : TUTTI_E_NOMEM;
    w->to = memory_;
    w->bytes = n * sizeof(float);
    w->draw = *key;
    return TUTTI_OK;
}

/* All streams are one queue; an event is its length when it was recorded. */
static tutti_status stream_create(void *device_, void **ret_stream, tutti_error *err)
{
    static char stream;
    *ret_stream = &stream;
    return TUTTI_OK;
}

static void stream_destroy(void *device_, void *stream)
{
    if (stream)
        shadow_work(device_);
}

static tutti_status event_create(void *device_, void **ret_event, tutti_error *err)
{
    *ret_event = calloc(1, sizeof(uint64_t));
    return *ret_event ? TUTTI_OK
                      : tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory for an event");
}

static void event_destroy(void *device_, void *event)
{
    free(event);
}

static tutti_status event_record(void *device_, void *event, void *stream, tutti_error *err)
{
    *(uint64_t *)event = ((const device *)device_)->queued;
    return TUTTI_OK;
}

static tutti_status event_wait(void *device_, void *stream, void *event, tutti_error *err)
{
    return TUTTI_OK;
}

static int32_t event_done(void *device_, void *event)
{
    const device *d = device_;
    if (d->done < *(const uint64_t *)event)
        return 0;
    return d->error.status ? d->error.status : 1;
}

static tutti_status synchronise(void *device_, void *stream, tutti_error *err)
{
    device *d = device_;
    d->owner->counts.waits++;
    shadow_work(d);
    return shadow_error(d, err);
}

static tutti_status run_relu(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        y[k] = x[k] > 0.0f ? x[k] : 0.0f;
    return TUTTI_OK;
}

static const tutti_kernel *kernel(void *device_, const char *op)
{
    static const tutti_kernel relu = {sizeof relu, 0, NULL, run_relu, NULL};
    const shadow *s = ((const device *)device_)->owner;
    if (s->promises & TUTTI_DEVICE_GROUPS && strcmp(op, "pointwise_fusion") == 0)
        return &shadow_group;
    return s->relu && strcmp(op, "relu") == 0 ? &relu : NULL;
}

static tutti_status launch(void *device_, void *stream, const tutti_launch *l, tutti_error *err)
{
    device *d = device_;
    const uint32_t nin = l->call->nin, nout = l->call->nout;
    tutti_status s = check(d, l->scratch, true, "a kernel's scratch", err);
    for (uint32_t k = 0; k < nin && !s; k++)
        s = check(d, l->in[k], true, "a kernel's input", err);
    for (uint32_t k = 0; k < nout && !s; k++)
        s = check(d, l->out[k], true, "a kernel's output", err);
    if (!s && (nin > TUTTI_OP_MAX_IN || nout > TUTTI_OP_MAX_OUT))
        s = tutti_fail(err, TUTTI_E_RANGE, "shadow: a kernel has too many arguments");
    work *w = s ? NULL : shadow_queue(d, WORK_LAUNCH, err);
    if (!w)
        return s ? s : TUTTI_E_NOMEM;
    w->launch = *l;
    w->call = *l->call;
    if (w->call.step) {
        w->step = *w->call.step;
        w->call.step = &w->step;
    }
    if (nin)
        memcpy(w->in, l->in, nin * sizeof *w->in);
    if (nout)
        memcpy(w->out, l->out, nout * sizeof *w->out);
    d->owner->counts.launches++;
    d->owner->counts.own_kernels += l->run == run_relu || l->run == shadow_group.run;
    return TUTTI_OK;
}

static tutti_status step(void *device_, tutti_error *err)
{
    device *d = device_;
    d->owner->counts.steps++;
    shadow_work(d);
    return TUTTI_OK;
}

#define TABLE(kernel_)                                                                         \
    {                                                                                          \
        .struct_size = sizeof(tutti_device_v1), .count = count, .describe = describe,          \
        .open = open_device, .close = close_device, .memory = memory, .alloc = alloc,          \
        .release = release, .copy = copy, .fill = fill, .random = random_numbers,              \
        .stream_create = stream_create, .stream_destroy = stream_destroy,                      \
        .event_create = event_create, .event_destroy = event_destroy,                          \
        .event_record = event_record, .event_wait = event_wait, .event_done = event_done,      \
        .synchronise = synchronise, .kernel = (kernel_), .launch = launch, .step = step        \
    }
static const tutti_device_v1 table = TABLE(NULL), with_kernels = TABLE(kernel);

/* Each is a setting of its own. */
static const struct promise {
    const char *setting;
    uint32_t flag;
} promises[] = {{"adds", TUTTI_DEVICE_ADDS},
                {"sums", TUTTI_DEVICE_SUMS},
                {"masks", TUTTI_DEVICE_MASKS},
                {"halves", TUTTI_DEVICE_HALVES},
                {"groups", TUTTI_DEVICE_GROUPS},
                {"half_results", TUTTI_DEVICE_HALF_RESULTS},
                {"loss_grads", TUTTI_DEVICE_LOSS_GRADS}};

static tutti_status open_backend(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    shadow *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "shadow: no memory");
    s->counts.struct_size = sizeof s->counts;
    s->bytes = (uint64_t)tutti_param_i64(params, "megabytes") << 20;
    s->unified = tutti_param_i64(params, "unified") != 0;
    s->relu = tutti_param_i64(params, "own_relu") != 0;
    for (size_t k = 0; k < sizeof promises / sizeof *promises; k++)
        s->promises |= tutti_param_i64(params, promises[k].setting) ? promises[k].flag : 0;
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status close_backend(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *shadow_query(void *self, const char *interface_id)
{
    shadow *s = self;
    if (strcmp(interface_id, SHADOW_COUNTS) == 0)
        return &s->counts;
    if (strcmp(interface_id, TUTTI_DEVICE_V1) == 0)
        return s->relu || s->promises & TUTTI_DEVICE_GROUPS ? &with_kernels : &table;
    return NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = open_backend,
                                  .close = close_backend,
                                  .query = shadow_query};
static const tutti_object object = TUTTI_OBJECT_INIT("shadow", TUTTI_KIND_DEVICE, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.shadow", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
