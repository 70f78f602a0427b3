/* weight_average.c - a second copy of the model's weights: averaged, exchanged, saved. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weight_average.h"
#include "weight_average_step.h"

#include <stdio.h>

/* ---- the manifest's kernels, by their names there ---- */

TUTTI_EXPORT void average_blend_cpu(float *value, const float *weight, float keep, float take,
                                    int64_t n);
TUTTI_EXPORT void average_approach_cpu(float *value, const float *weight, float take,
                                       int64_t n);
TUTTI_EXPORT void average_exchange_cpu(float *value, float *weight, int64_t n);

void average_blend_cpu(float *value, const float *weight, float keep, float take, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        value[k] = average_blended(value[k], weight[k], keep, take);
}

void average_approach_cpu(float *value, const float *weight, float take, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        value[k] = average_nearer(value[k], weight[k], take);
}

void average_exchange_cpu(float *value, float *weight, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const float held = value[k];
        value[k] = weight[k];
        weight[k] = held;
    }
}

/* ---- blocks ---- */

tutti_status average_init(average *a, const tutti_host *host, const char *who, tutti_error *err)
{
    static const char *const names[] = {"average_blend", "average_approach",
                                        "average_exchange"};
    const tutti_status s = algorithm_device_init(&a->device, host, who, err);
    if (s)
        return s;
    a->weights = algorithm_service(host, who, TUTTI_WEIGHTS_V1, err);
    return a->weights ? algorithm_kernels(&a->device, names, AVERAGE_KERNELS, a->kernel, err)
                      : TUTTI_E_UNSUPPORTED;
}

static void free_all(const average *a, average_block *blocks, uint32_t nblocks,
                     average_entry *entries, uint32_t count)
{
    const tutti_device_view_v1 *v = a->device.view;
    for (uint32_t k = 0; blocks && k < nblocks; k++)
        v->give(v->ctx, blocks[k].value);
    for (uint32_t k = 0; entries && k < count; k++)
        free(entries[k].path);
    free(blocks);
    free(entries);
}

void average_fini(average *a)
{
    free_all(a, a->blocks, a->nblocks, a->entries, a->count);
    a->blocks = NULL;
    a->entries = NULL;
    a->nblocks = a->count = 0;
}

/* The old entry of that path and shape, most likely at the same place. */
static const average_entry *weight_average_find(const average *a, uint32_t guess,
                                                const average_entry *like)
{
    for (uint32_t k = 0; k < a->count; k++) {
        const average_entry *e = &a->entries[(guess + k) % a->count];
        if (strcmp(e->path, like->path) == 0 && tutti_same_shape(&e->desc, &like->desc))
            return e;
    }
    return NULL;
}

static tutti_status weight_average_copy(const average *a, float *to, const float *from,
                                        int64_t n, tutti_error *err)
{
    const tutti_device_view_v1 *v = a->device.view;
    return v->copy(v->ctx, to, from, (uint64_t)n * sizeof *to, TUTTI_COPY_ON_DEVICE, err);
}

/* A block of span's values, and entries of its weights: their old values where they had some. */
static tutti_status weight_average_fill(const average *a, const tutti_span *span,
                                        average_block *block, average_entry *entries,
                                        uint32_t *count, tutti_error *err)
{
    const tutti_device_view_v1 *v = a->device.view;
    void *memory;
    tutti_status s = v->take(v->ctx, (uint64_t)span->n * sizeof(float), &memory, err);
    if (s)
        return tutti_fail(err, s, "%s: no memory for a copy of the weights", a->device.who);
    *block = (average_block){memory, span->n};
    s = weight_average_copy(a, block->value, span->w, span->n, err);
    for (uint32_t k = span->first; k < span->first + span->count && !s; k++) {
        tutti_weight w = {.struct_size = sizeof w};
        if ((s = v->weight(v->ctx, k, &w, err)))
            return s;
        average_entry *e = &entries[*count];
        *e = (average_entry){strdup(w.path), block->value + ((float *)w.data.data - span->w),
                             w.data.desc};
        if (!e->path)
            return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a copy of %s",
                              a->device.who, w.path);
        const average_entry *old = weight_average_find(a, (*count)++, e);
        if (old)
            s = weight_average_copy(a, e->value, old->value, tutti_numel(&e->desc), err);
    }
    return s;
}

tutti_status average_fit(average *a, tutti_error *err)
{
    const tutti_device_view_v1 *v = a->device.view;
    const uint32_t nblocks = v->spans(v->ctx), all = a->weights->count(a->weights->ctx);
    uint32_t count = 0;
    average_block *blocks = calloc((size_t)nblocks + 1, sizeof *blocks);
    average_entry *entries = calloc((size_t)all + 1, sizeof *entries);
    tutti_status s = TUTTI_OK;
    if (!blocks || !entries)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %u weights", a->device.who, all);
    for (uint32_t k = 0; k < nblocks && !s; k++) {
        tutti_span span = {.struct_size = sizeof span};
        s = v->span(v->ctx, k, &span, err);
        if (!s)
            s = weight_average_fill(a, &span, &blocks[k], entries, &count, err);
    }
    if (s) {
        free_all(a, blocks, nblocks, entries, count);
        return s;
    }
    average_fini(a);
    a->blocks = blocks;
    a->entries = entries;
    a->nblocks = nblocks;
    a->count = count;
    a->version = a->weights->version(a->weights->ctx);
    return TUTTI_OK;
}

static tutti_status fit_once(average *a, tutti_error *err)
{
    return a->blocks && a->version == a->weights->version(a->weights->ctx)
               ? TUTTI_OK
               : average_fit(a, err);
}

/* ---- what is done with them ---- */

typedef tutti_status (*visitor)(average *a, average_block *block, tutti_span *span,
                                double number, tutti_error *err);

/* Calls `trained` or `other` with every block and the model's span. */
static tutti_status weight_average_each(average *a, visitor trained, visitor other,
                                        double number, tutti_error *err)
{
    const tutti_device_view_v1 *v = a->device.view;
    tutti_status s = fit_once(a, err);
    for (uint32_t k = 0; k < a->nblocks && !s; k++) {
        tutti_span span = {.struct_size = sizeof span};
        s = v->span(v->ctx, k, &span, err);
        if (!s)
            s = (span.g ? trained : other)(a, &a->blocks[k], &span, number, err);
    }
    return s;
}

static tutti_status weight_average_keep(average *a, average_block *b, tutti_span *span,
                                        double unused, tutti_error *err)
{
    (void)unused;
    return weight_average_copy(a, b->value, span->w, b->n, err);
}

static tutti_status weight_average_load(average *a, average_block *b, tutti_span *span,
                                        double unused, tutti_error *err)
{
    (void)unused;
    return weight_average_copy(a, span->w, b->value, b->n, err);
}

static tutti_status weight_average_blend(average *a, average_block *b, tutti_span *span,
                                         double smoothing, tutti_error *err)
{
    float kept = (float)smoothing, taken = (float)(1.0 - smoothing);
    return algorithm_launch(&a->device, a->kernel[AVERAGE_BLEND], err, &b->value, &span->w,
                            &kept, &taken, &b->n);
}

static tutti_status weight_average_approach(average *a, average_block *b, tutti_span *span,
                                            double share, tutti_error *err)
{
    float taken = (float)share;
    return algorithm_launch(&a->device, a->kernel[AVERAGE_APPROACH], err, &b->value, &span->w,
                            &taken, &b->n);
}

static tutti_status weight_average_exchange(average *a, average_block *b, tutti_span *span,
                                            double unused, tutti_error *err)
{
    (void)unused;
    return algorithm_launch(&a->device, a->kernel[AVERAGE_EXCHANGE], err, &b->value, &span->w,
                            &b->n);
}

tutti_status average_start(average *a, tutti_error *err)
{
    const tutti_status status =
        weight_average_each(a, weight_average_keep, weight_average_keep, 0.0, err);
    if (status == TUTTI_OK)
        a->flags[AVERAGE_STARTED] = 1;
    return status;
}

tutti_status average_update(average *a, double smoothing, tutti_error *err)
{
    return weight_average_each(a, weight_average_blend, weight_average_blend, smoothing, err);
}

tutti_status average_mean(average *a, double share, tutti_error *err)
{
    return weight_average_each(a, weight_average_approach, weight_average_keep, share, err);
}

tutti_status average_approach(average *a, double share, tutti_error *err)
{
    return weight_average_each(a, weight_average_approach, weight_average_approach, share, err);
}

tutti_status average_load(average *a, tutti_error *err)
{
    return weight_average_each(a, weight_average_load, weight_average_load, 0.0, err);
}

tutti_status average_swap(average *a, tutti_error *err)
{
    const tutti_status status =
        weight_average_each(a, weight_average_exchange, weight_average_exchange, 0.0, err);
    if (status == TUTTI_OK)
        a->flags[AVERAGE_ACTIVE] = !a->flags[AVERAGE_ACTIVE];
    return status;
}

/* ---- checkpoints ---- */

static void name_item(tutti_state_item *item, const char *who, const average_entry *e,
                      uint32_t k)
{
    const int n = snprintf(item->name, sizeof item->name, "%s.%s", who, e->path);
    if (n < 0 || (size_t)n >= sizeof item->name) /* a path that is too long goes by its hash */
        (void)snprintf(item->name, sizeof item->name, "%s.%u.%016llx", who, k,
                       (unsigned long long)tutti_hash(e->path));
}

tutti_status average_items(average *a, tutti_state_item *list, uint32_t capacity,
                           uint32_t *ret_count, tutti_error *err)
{
    const tutti_status status = fit_once(a, err);
    if (status)
        return status;
    for (uint32_t k = 0; k < a->count && k + 1 < capacity; k++) {
        const average_entry *e = &a->entries[k];
        memset(&list[k + 1], 0, sizeof list[k + 1]);
        name_item(&list[k + 1], a->device.who, e, k);
        list[k + 1].tensor = (tutti_tensor){e->value, e->desc, a->device.view->device, 0};
    }
    if (capacity > 0) {
        const tutti_desc flags = {{a->nflags}, 1, TUTTI_I64};
        memset(&list[0], 0, sizeof list[0]);
        (void)snprintf(list[0].name, sizeof list[0].name, "flags");
        list[0].tensor = (tutti_tensor){a->flags, flags, TUTTI_DEVICE_CPU, 0};
    }
    *ret_count = a->count + 1;
    return TUTTI_OK;
}
