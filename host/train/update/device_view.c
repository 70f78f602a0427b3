/* device_view.c - tutti.device_view/1: tensors where they are, for the kernels of one plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/released.h"
#include "graph/runtime/device_memory.h"
#include "train/update/plugin_kernels.h"
#include "train/update/weights_service.h"

#include <string.h>

/* Whether the plugin's kernels run on the host while the tensors are out of its reach. */
static bool copies(const device_view *v)
{
    return !v->place && context_is_remote(v->kernels->run);
}

/* ---- the state ---- */

static tutti_status describe(void *ctx, const char *name, tutti_desc *ret, tutti_error *err)
{
    const device_view *v = ctx;
    slot *s = NULL;
    const tutti_status status = tensors_find(v->kernels->tensors, name, &s, err);
    if (!status)
        *ret = s->now.desc;
    return status;
}

/* Brings a batch column that the loader has left on the host to where kernels run. */
static tutti_status bring(device_view *v, slot *s, tutti_error *err)
{
    const uint32_t column = (uint32_t)(s - tensors_batch(v->kernels->tensors)->columns);
    void *memory;
    const tutti_status status =
        slot_take(s, v->place, tutti_nbytes(&s->now.desc), &memory, err);
    if (status)
        return status;
    mirrors_invalidate(v->kernels->mirrors, 1u << MIRROR_RESULTS);
    const tutti_status sent = upload_run(v->kernels->uploads, v->place,
                                         2 * TUTTI_MAX_COLUMNS + column, memory, &s->now, err);
    if (sent)
        return sent;
    s->now.data = memory;
    s->now.device = device_number(v->place);
    return TUTTI_OK;
}

static tutti_status get(void *ctx, const char *name, tutti_tensor *ret, tutti_error *err)
{
    device_view *v = ctx;
    slot *s = NULL;
    tutti_status status = tensors_find(v->kernels->tensors, name, &s, err);
    if (status)
        return status;
    if (v->place && s->now.device == TUTTI_DEVICE_CPU)
        status = bring(v, s, err);
    tutti_tensor seen = s->now;
    if (!status && copies(v))
        status = mirror_open(v->kernels->mirrors, &s->mirror, MIRROR_RESULTS, &seen, err);
    if (!status)
        *ret = seen;
    return status;
}

static tutti_status renew(void *ctx, const char *name, const tutti_desc *desc,
                          tutti_tensor *ret, tutti_error *err)
{
    device_view *v = ctx;
    slot *s = NULL;
    tutti_status status = tensors_find(v->kernels->tensors, name, &s, err);
    if (status)
        return status;
    if (tensors_is_result(v->kernels->tensors, s)) {
        if (!tutti_same_shape(&s->now.desc, desc) || s->now.desc.dtype != desc->dtype)
            return tutti_fail(err, TUTTI_E_SHAPE, "%s keeps its shape and dtype", name);
        return get(v, name, ret, err);
    }
    void *memory;
    tutti_error cause = TUTTI_ERROR_INIT;
    if (tutti_desc_check(desc, 0, &cause))
        return tutti_fail(err, cause.status, "%s: %s", name, cause.text);
    if ((status = slot_take(s, v->place, tutti_nbytes(desc), &memory, err)))
        return status;
    mirrors_invalidate(v->kernels->mirrors, 1u << MIRROR_RESULTS);
    s->now = (tutti_tensor){memory, *desc, device_number(v->place), 0};
    tensors_batch(v->kernels->tensors)->samples =
        tensors_batch(v->kernels->tensors)->columns[0].now.desc.dim[0];
    *ret = s->now;
    return TUTTI_OK;
}

/* ---- weights ---- */

static tutti_status weight(void *ctx, uint32_t k, tutti_weight *ret, tutti_error *err)
{
    const device_view *v = ctx;
    tutti_weight found;
    tutti_status s = RELEASED_CAPACITY(tutti_weight, ret, err);
    if (!s)
        s = weights_show(v->kernels->updater, err);
    if (!s)
        s = weights_find(v->kernels->updater, k, &found, err);
    if (!s && copies(v))
        s = mirrors_weight(v->kernels->mirrors, k, &found, err);
    else if (!s && !v->place) /* who has the address may write at any time */
        net_expose_weights(v->kernels->run->net);
    return s ? s : RELEASED_GIVE(tutti_weight, ret, &found, err);
}

static tutti_status optimizer_slot(void *ctx, uint32_t k, uint32_t j, tutti_slot *ret,
                                   tutti_error *err)
{
    const device_view *v = ctx;
    tutti_slot found;
    tutti_status s = weights_find_slot(v->kernels->updater, k, j, &found, err);
    if (!s && copies(v))
        s = mirrors_slot(v->kernels->mirrors, k, j, &found.data, err);
    return s ? s : RELEASED_GIVE(tutti_slot, ret, &found, err);
}

/* Whether weight w goes on where `span` ends. */
static bool goes_on(const tutti_span *span, const tutti_weight *w)
{
    const uintptr_t end = (uintptr_t)(span->w + span->n), next = (uintptr_t)w->data.data;
    return !span->g == !w->grad && next >= end && next - end < 64;
}

/* Span `number`, or the last, and how many there are up to it. */
static uint32_t find_span(const device_view *v, uint32_t number, tutti_span *span)
{
    const net *n = v->kernels->run->net;
    uint32_t found = 0;
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        if (w->data.desc.dtype != TUTTI_F32)
            continue;
        float *const data = w->data.data;
        const bool next = found && span->first + span->count == k;
        if (next && !copies(v) && goes_on(span, w)) {
            span->count++;
            span->n = data - span->w + tutti_numel(&w->data.desc);
            continue;
        }
        if (found++ > number)
            return found - 1;
        *span = (tutti_span){.struct_size = sizeof *span,
                             .first = k,
                             .count = 1,
                             .n = tutti_numel(&w->data.desc),
                             .w = data,
                             .g = w->grad};
    }
    return found;
}

static uint32_t spans(void *ctx)
{
    tutti_span unused;
    return find_span(ctx, UINT32_MAX, &unused);
}

static tutti_status span(void *ctx, uint32_t k, tutti_span *ret, tutti_error *err)
{
    const device_view *v = ctx;
    tutti_span found;
    tutti_weight w;
    tutti_status s = weights_show(v->kernels->updater, err);
    const uint32_t count = find_span(v, k, &found);
    if (s)
        return s;
    if (k >= count)
        return tutti_fail(err, TUTTI_E_RANGE, "there are %u spans, %u is past the last", count,
                          k);
    if (!v->place)
        net_expose_weights(v->kernels->run->net);
    if (copies(v)) { /* a span is one weight there */
        w.struct_size = sizeof w;
        if ((s = weight(ctx, found.first, &w, err)))
            return s;
        found.w = w.data.data;
        found.g = w.grad;
    }
    return RELEASED_GIVE(tutti_span, ret, &found, err);
}

/* ---- memory ---- */

static tutti_status take(void *ctx, uint64_t bytes, void **ret, tutti_error *err)
{
    const device_view *v = ctx;
    void *memory = device_try_alloc(v->place, bytes, err);
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes",
                          (unsigned long long)bytes);
    *ret = memory;
    return TUTTI_OK;
}

static void give(void *ctx, void *memory)
{
    if (memory)
        device_free(((const device_view *)ctx)->place, memory);
}

static tutti_status copy(void *ctx, void *to, const void *from, uint64_t bytes, int32_t how,
                         tutti_error *err)
{
    const device_view *v = ctx;
    if (how != TUTTI_COPY_TO_DEVICE && how != TUTTI_COPY_FROM_DEVICE &&
        how != TUTTI_COPY_ON_DEVICE)
        return tutti_fail(err, TUTTI_E_ARG,
                          "a copy goes %d, want TUTTI_COPY_TO_DEVICE, _FROM_DEVICE or "
                          "_ON_DEVICE",
                          how);
    tutti_status s = v->place ? mirrors_flush(v->kernels->mirrors, false, err) : TUTTI_OK;
    if (!s && v->place)
        s = scalars_apply_factor(v->kernels->scalars, err);
    if (s)
        return s;
    if (v->place && how != TUTTI_COPY_FROM_DEVICE)
        mirrors_invalidate(v->kernels->mirrors, MIRROR_ALL);
    return device_copy(v->place, to, from, bytes, how, err);
}

/* ---- numbers on their way to the host ---- */

static tutti_status make_peeks(device_view *v, tutti_error *err)
{
    const tutti_device *d = v->place;
    if (v->peeked)
        return TUTTI_OK;
    for (int k = 0; k < PEEKS; k++) {
        const tutti_status s =
            v->came[k] ? TUTTI_OK : d->table->event_create(d->device, &v->came[k], err);
        if (s)
            return s;
    }
    v->peeked = device_alloc_pinned(d, PEEKS * (uint64_t)TUTTI_PEEK_BYTES);
    return v->peeked
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for numbers of %s", d->info.name);
}

static tutti_status ask(device_view *v, const void *memory, uint64_t bytes, tutti_error *err)
{
    const tutti_device *d = v->place;
    const uint64_t k = v->npeeks % PEEKS;
    tutti_status s = TUTTI_OK;
    if (v->npeeks >= PEEKS && d->table->event_done(d->device, v->came[k]) != 1)
        s = d->table->synchronise(d->device, NULL, err); /* too far ahead */
    if (s ||
        (s = device_copy(d, v->peeked + k * TUTTI_PEEK_BYTES, memory, bytes,
                         TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err)) ||
        (s = d->table->event_record(d->device, v->came[k], NULL, err)))
        return s;
    v->npeeks++;
    return TUTTI_OK;
}

static tutti_status peek(void *ctx, const void *memory, uint64_t bytes, void *to,
                         int32_t *ret_known, tutti_error *err)
{
    device_view *v = ctx;
    if (bytes > TUTTI_PEEK_BYTES)
        return tutti_fail(err, TUTTI_E_RANGE, "a peek is at %llu bytes, want at most %d",
                          (unsigned long long)bytes, TUTTI_PEEK_BYTES);
    *ret_known = !v->place;
    if (!v->place) {
        memcpy(to, memory, bytes);
        return TUTTI_OK;
    }
    tutti_status s = make_peeks(v, err);
    if (s || (s = ask(v, memory, bytes, err)))
        return s;
    for (uint64_t n = v->npeeks; n > 0 && n + PEEKS > v->npeeks && !*ret_known; n--) {
        const uint64_t k = (n - 1) % PEEKS;
        *ret_known = v->place->table->event_done(v->place->device, v->came[k]) == 1;
        if (*ret_known)
            memcpy(to, v->peeked + k * TUTTI_PEEK_BYTES, bytes);
    }
    return TUTTI_OK;
}

void device_view_fini(device_view *v)
{
    const tutti_device *d = v->place;
    for (int k = 0; d && k < PEEKS; k++)
        d->table->event_destroy(d->device, v->came[k]);
    if (v->peeked)
        device_free_pinned(d, v->peeked);
}

void device_view_init(device_view *v, plugin_kernels *p, const tutti_device *place)
{
    *v = (device_view){.kernels = p, .place = place};
    v->table = (tutti_device_view_v1){.struct_size = sizeof v->table,
                                      .device = device_number(place),
                                      .ctx = v,
                                      .describe = describe,
                                      .get = get,
                                      .renew = renew,
                                      .weight = weight,
                                      .spans = spans,
                                      .span = span,
                                      .take = take,
                                      .give = give,
                                      .copy = copy,
                                      .peek = peek,
                                      .slot = optimizer_slot};
}
