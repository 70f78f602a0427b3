/* average.c - a second copy of the model's weights: averaged, exchanged, saved. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "average.h"

static void entries_free(average_entry *entries, uint32_t count)
{
    for (uint32_t k = 0; entries && k < count; k++) {
        free(entries[k].path);
        free(entries[k].value);
    }
    free(entries);
}

void average_fini(average *a)
{
    entries_free(a->entries, a->count);
    a->entries = NULL;
    a->count = 0;
}

/* The old entry of `w`, most likely at the same place. */
static average_entry *find(average *a, uint32_t guess, const tutti_weight *w)
{
    for (uint32_t k = 0; k < a->count; k++) {
        average_entry *e = &a->entries[(guess + k) % a->count];
        if (e->path && strcmp(e->path, w->path) == 0 &&
            tutti_same_shape(&e->desc, &w->data.desc))
            return e;
    }
    return NULL;
}

static tutti_status entry_init(const char *who, average_entry *e, const tutti_weight *w,
                               tutti_error *err)
{
    const uint64_t bytes = tutti_nbytes(&w->data.desc);
    e->desc = w->data.desc;
    e->path = strdup(w->path);
    e->value = malloc(bytes ? bytes : 1);
    if (!e->path || !e->value)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a copy of %s", who, w->path);
    if (bytes)
        memcpy(e->value, w->data.data, bytes);
    return TUTTI_OK;
}

tutti_status average_fit(average *a, tutti_error *err)
{
    const tutti_weights_v1 *s = a->weights;
    const uint32_t all = s->count(s->ctx);
    uint32_t count = 0;
    tutti_status status = TUTTI_OK;
    average_entry *entries = calloc(all ? all : 1, sizeof *entries);
    if (!entries)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %u weights", a->who, all);
    for (uint32_t k = 0; k < all; k++) {
        tutti_weight w = {.struct_size = sizeof w};
        if ((status = s->at(s->ctx, k, &w, err)))
            goto fail;
        if (w.data.desc.dtype == TUTTI_F32 &&
            (status = entry_init(a->who, &entries[count++], &w, err)))
            goto fail;
    }
    for (uint32_t k = 0; k < count; k++) { /* nothing can fail from here */
        const tutti_weight w = {.path = entries[k].path, .data = {.desc = entries[k].desc}};
        const average_entry *old = find(a, k, &w);
        if (old)
            memcpy(entries[k].value, old->value, tutti_nbytes(&old->desc));
    }
    entries_free(a->entries, a->count);
    a->entries = entries;
    a->count = count;
    a->version = s->version(s->ctx);
    return TUTTI_OK;

fail:
    entries_free(entries, count);
    return status;
}

typedef void (*visitor)(float *value, float *weight, int64_t n, double number);

/* Calls `trained` or `other` with every entry's value, the model's and their length. */
static tutti_status each(average *a, visitor trained, visitor other, double number,
                         tutti_error *err)
{
    const tutti_weights_v1 *s = a->weights;
    if (!a->entries || a->version != s->version(s->ctx)) {
        const tutti_status status = average_fit(a, err);
        if (status)
            return status;
    }
    uint32_t at = 0;
    for (uint32_t k = 0; k < s->count(s->ctx) && at < a->count; k++) {
        tutti_weight w = {.struct_size = sizeof w};
        const tutti_status status = s->at(s->ctx, k, &w, err);
        if (status)
            return status;
        if (w.data.desc.dtype != TUTTI_F32)
            continue;
        (w.grad ? trained : other)(a->entries[at].value, w.data.data, tutti_numel(&w.data.desc),
                                   number);
        at++;
    }
    return TUTTI_OK;
}

static void copy(float *value, float *weight, int64_t n, double unused)
{
    (void)unused;
    if (n)
        memcpy(value, weight, (size_t)n * sizeof *value);
}

static void blend(float *value, float *weight, int64_t n, double smoothing)
{
    const float keep = (float)smoothing, take = (float)(1.0 - smoothing);
    for (int64_t i = 0; i < n; i++)
        value[i] = keep * value[i] + take * weight[i];
}

static void approach(float *value, float *weight, int64_t n, double share)
{
    const float take = (float)share;
    for (int64_t i = 0; i < n; i++)
        value[i] += take * (weight[i] - value[i]);
}

static void load(float *value, float *weight, int64_t n, double unused)
{
    (void)unused;
    if (n)
        memcpy(weight, value, (size_t)n * sizeof *value);
}

static void exchange(float *value, float *weight, int64_t n, double unused)
{
    (void)unused;
    for (int64_t i = 0; i < n; i++) {
        const float held = value[i];
        value[i] = weight[i];
        weight[i] = held;
    }
}

tutti_status average_start(average *a, tutti_error *err)
{
    const tutti_status status = each(a, copy, copy, 0.0, err);
    if (status == TUTTI_OK)
        a->flags[AVERAGE_STARTED] = 1;
    return status;
}

tutti_status average_update(average *a, double smoothing, tutti_error *err)
{
    return each(a, blend, blend, smoothing, err);
}

tutti_status average_mean(average *a, double share, tutti_error *err)
{
    return each(a, approach, copy, share, err);
}

tutti_status average_load(average *a, tutti_error *err)
{
    return each(a, load, load, 0.0, err);
}

tutti_status average_swap(average *a, tutti_error *err)
{
    const tutti_status status = each(a, exchange, exchange, 0.0, err);
    if (status == TUTTI_OK)
        a->flags[AVERAGE_ACTIVE] = !a->flags[AVERAGE_ACTIVE];
    return status;
}

static void name_item(tutti_state_item *item, const char *who, const average_entry *e,
                      uint32_t k)
{
    const int n = snprintf(item->name, sizeof item->name, "%s.%s", who, e->path);
    if (n < 0 || (size_t)n >= sizeof item->name) /* a path that is too long goes by its hash */
        (void)snprintf(item->name, sizeof item->name, "%s.%u.%016llx", who, k,
                       (unsigned long long)tutti_hash(e->path));
}

tutti_status average_items(average *a, tutti_state_item *list, uint32_t room,
                           uint32_t *ret_count, tutti_error *err)
{
    const tutti_weights_v1 *s = a->weights;
    if (!a->entries || a->version != s->version(s->ctx)) {
        const tutti_status status = average_fit(a, err);
        if (status)
            return status;
    }
    for (uint32_t k = 0; k < a->count && k + 1 < room; k++) {
        memset(&list[k + 1], 0, sizeof list[k + 1]);
        name_item(&list[k + 1], a->who, &a->entries[k], k);
        list[k + 1].tensor = algorithm_view(a->entries[k].value, &a->entries[k].desc);
    }
    if (room > 0) {
        const tutti_desc flags = {{a->nflags}, 1, TUTTI_I64};
        memset(&list[0], 0, sizeof list[0]);
        (void)snprintf(list[0].name, sizeof list[0].name, "flags");
        list[0].tensor = (tutti_tensor){a->flags, flags, TUTTI_DEVICE_CPU, 0};
    }
    *ret_count = a->count + 1;
    return TUTTI_OK;
}
