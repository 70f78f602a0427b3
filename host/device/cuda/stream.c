/* stream.c - streams, events, waiting, and what waiting finds: faults that kernels left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

tutti_status cuda_stream_create(void *device, void **ret_stream, tutti_error *err)
{
    const cuda_device *d = device;
    stream *made = NULL;
    cuda_enter(d);
    const tutti_status s =
        cuda_check(d, d->rt->cudaStreamCreateWithFlags(&made, CUDART_STREAM_NON_BLOCKING),
                   "a stream", err);
    if (!s)
        *ret_stream = made;
    return s;
}

void cuda_stream_destroy(void *device, void *on)
{
    cuda_device *d = device;
    if (!on)
        return;
    cuda_enter(d);
    (void)d->rt->cudaStreamSynchronize(on);
    if (d->staging.small.on == on) /* its copies are done, their places free */
        d->staging.small.used = 0;
    (void)d->rt->cudaStreamDestroy(on);
}

tutti_status cuda_event_create(void *device, void **ret_event, tutti_error *err)
{
    const cuda_device *d = device;
    struct CUevent_st *made = NULL;
    cuda_enter(d);
    const tutti_status s = cuda_check(
        d, d->rt->cudaEventCreateWithFlags(&made, CUDART_EVENT_NO_TIMING), "an event", err);
    if (!s)
        *ret_event = made;
    return s;
}

void cuda_event_destroy(void *device, void *event)
{
    const cuda_device *d = device;
    if (!event)
        return;
    cuda_enter(d);
    (void)d->rt->cudaEventDestroy(event);
}

tutti_status cuda_event_record(void *device, void *event, void *on, tutti_error *err)
{
    const cuda_device *d = device;
    cuda_enter(d);
    return cuda_check(d, d->rt->cudaEventRecord(event, cuda_stream_of(d, on)), "an event", err);
}

tutti_status cuda_event_wait(void *device, void *on, void *event, tutti_error *err)
{
    const cuda_device *d = device;
    cuda_enter(d);
    return cuda_check(d, d->rt->cudaStreamWaitEvent(cuda_stream_of(d, on), event, 0),
                      "an event", err);
}

int32_t cuda_event_done(void *device, void *event)
{
    const cuda_device *d = device;
    cuda_enter(d);
    const unsigned int code = d->rt->cudaEventQuery(event);
    if (code == CUDART_NOT_READY)
        (void)d->rt->cudaGetLastError();
    return code == CUDART_SUCCESS ? 1 : code == CUDART_NOT_READY ? 0 : TUTTI_E_FAIL;
}

/* The error of a launch, once. */
static tutti_status take_kept(cuda_device *d, tutti_error *err)
{
    const tutti_error kept = d->faults.kept;
    d->faults.kept = (tutti_error)TUTTI_ERROR_INIT;
    return kept.status ? tutti_fail(err, kept.status, "%s", kept.text) : TUTTI_OK;
}

static tutti_status fetch_fault(const cuda_device *d, stream *on, tutti_error *err)
{
    return cuda_check(d,
                      d->rt->cudaMemcpyAsync((void *)(uintptr_t)d->faults.seen,
                                             d->kernels.fault, sizeof *d->faults.seen,
                                             CUDART_TO_HOST, on),
                      "a copy of its fault", err);
}

/* What the host has seen of the fault, as an error; it is over with that. */
static tutti_status tell_fault(cuda_device *d, tutti_error *err)
{
    const uint32_t mark = *d->faults.seen;
    if (!mark)
        return TUTTI_OK;
    tutti_status s =
        cuda_check(d, d->rt->cudaDeviceSynchronize(), "waiting", err); /* for other copies */
    if (!s)
        s = cuda_fill(d, d->streams.own, d->kernels.fault, 0, sizeof *d->kernels.fault, err);
    *d->faults.seen = 0;
    return s ? s
             : tutti_fail(err, TUTTI_E_RANGE, "%s: a class or an index is out of range (%s)",
                          names_text(&d->history.names, mark),
                          tutti_status_name(TUTTI_E_RANGE));
}

tutti_status cuda_synchronise(void *device, void *on, tutti_error *err)
{
    cuda_device *d = device;
    tutti_status s = TUTTI_OK;
    cuda_enter(d);
    cuda_profile_release(d);
    if (d->faults.dirty && !on) /* launches on other streams than its own */
        s = cuda_check(d, d->rt->cudaDeviceSynchronize(), "waiting", err);
    if (!s && d->faults.dirty)
        s = fetch_fault(d, cuda_stream_of(d, on), err);
    if (!s)
        s = cuda_check(d,
                       on ? d->rt->cudaStreamSynchronize(on) : d->rt->cudaDeviceSynchronize(),
                       "waiting", err);
    d->faults.dirty = d->faults.dirty && (on || s);
    if (!s)
        s = tell_fault(d, err);
    return s ? s : take_kept(d, err);
}

/* Looks at the fault as it was when the device came to the end of some earlier step. */
tutti_status cuda_step(void *device, tutti_error *err)
{
    cuda_device *d = device;
    cuda_enter(d);
    cuda_profile_release(d);
    cuda_profile_step(d);
    tutti_status s = tell_fault(d, err);
    if (!s && d->faults.dirty)
        s = fetch_fault(d, d->streams.own, err);
    return s ? s : take_kept(d, err);
}
