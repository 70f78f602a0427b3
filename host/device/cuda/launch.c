/* launch.c - running a kernel's host code: its stream, its mark, the step that its launches read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

#include <stdlib.h>
#include <string.h>

enum { FAULT_AT = 128, SHARED_BYTES = 256 };

tutti_status cuda_make_steps(cuda_device *d, tutti_error *err)
{
    void *seen = NULL, *shared = NULL;
    tutti_status s = cuda_alloc(d, SHARED_BYTES, &shared, err);
    if (s)
        return s;
    d->shared = shared;
    d->kernels.step = shared;
    d->kernels.fault = (uint32_t *)(void *)(d->shared + FAULT_AT);
    for (int k = 0; k < STEPS_AHEAD && !s; k++)
        s = cuda_pin(d, sizeof(tutti_step), &d->steps.ring[k], err);
    if (!s && !(s = cuda_host_alloc(d, sizeof *d->faults.seen, &seen, err))) {
        d->faults.seen = seen;
        *d->faults.seen = 0;
    }
    return s;
}

tutti_status cuda_tell_step(cuda_device *d, stream *on, const tutti_step *step,
                            tutti_error *err)
{
    const tutti_step *t = &d->steps.told;
    if (t->struct_size && t->seed == step->seed && t->step == step->step &&
        t->microbatch == step->microbatch && t->first_sample == step->first_sample)
        return TUTTI_OK;
    const pinned *p = &d->steps.ring[d->steps.next++ % STEPS_AHEAD];
    unsigned int code = d->rt->cudaEventSynchronize(p->done);
    if (!code) {
        memcpy(p->memory, step, sizeof *step);
        code = d->rt->cudaMemcpyAsync(d->shared, p->memory, sizeof *step, CUDART_TO_DEVICE, on);
    }
    if (!code)
        code = d->rt->cudaEventRecord(p->done, on);
    if (!code)
        d->steps.told = *step;
    return cuda_check(d, code, "a step's numbers", err);
}

tutti_status cuda_launch(void *device, void *on, const tutti_launch *l, tutti_error *err)
{
    cuda_device *d = device;
    stream *s = cuda_stream_of(d, on);
    const char *where = TUTTI_HAS(l, tutti_launch, where) ? l->where : NULL;
    cuda_enter(d);
    tutti_status status = TUTTI_OK;
    if (!d->capture.active && l->call->step)
        status = cuda_tell_step(d, s, l->call->step, err);
    if (status)
        return status;
    d->streams.current = s;
    d->faults.dirty = true;
    d->kernels.mark = names_number(&d->history.names, where, l->name);
    d->history.last[d->history.count++ % LAUNCHES_KEPT] = (launched){.mark = d->kernels.mark};
    if (d->capture.active && !d->capture.launches++)
        d->capture.first = d->kernels.mark;
    const bool timed = cuda_profile_begin(d, s, d->kernels.mark);
    d->running = true;
    status = l->run(l->state, l->call, l->in, l->out, l->scratch);
    d->running = false;
    if (timed)
        cuda_profile_end(d, s);
    d->streams.current = d->streams.own;
    if (!status)
        return TUTTI_OK;
    const tutti_error kept = d->faults.kept;
    d->faults.kept = (tutti_error)TUTTI_ERROR_INIT;
    /* A library may have refused because an earlier kernel has failed meanwhile. */
    if (!kept.status && !d->capture.active &&
        cuda_check(d, d->rt->cudaStreamSynchronize(s), l->name, err))
        return err ? err->status : status;
    return kept.status ? tutti_fail(err, kept.status, "%s", kept.text)
                       : tutti_fail(err, status, "%s: kernel %s failed (%s)", d->label, l->name,
                                    tutti_status_name(status));
}

tutti_status cuda_object_of(void *ctx, const void *key,
                            tutti_status (*make)(const tutti_cuda_v1 *cuda, void **ret_object,
                                                 tutti_error *err),
                            void (*destroy)(void *object), void **ret_object, tutti_error *err)
{
    cuda_device *d = ctx;
    cuda_enter(d); /* what the object is used for is done by this thread, too */
    for (cuda_object *o = d->objects; o; o = o->next)
        if (o->key == key) {
            *ret_object = o->object;
            return TUTTI_OK;
        }
    cuda_object *o = calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for an object of the device");
    const tutti_status s = make(&d->kernels, &o->object, err);
    if (s) {
        free(o);
        return s;
    }
    o->key = key;
    o->destroy = destroy;
    o->next = d->objects;
    d->objects = o;
    *ret_object = o->object;
    return TUTTI_OK;
}
