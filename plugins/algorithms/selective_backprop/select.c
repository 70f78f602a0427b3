/* select.c - choosing samples by their losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <math.h>

/* A sample and what it is sorted by. */
typedef struct ranked {
    double key;
    uint32_t index;
    uint32_t reserved;
} ranked;

int64_t select_count(int64_t samples, double keep)
{
    const int64_t count = (int64_t)(keep * (double)samples);
    return count < 1 && samples > 0 ? 1 : count;
}

/* Ascending; equal keys in order of index, a NaN after all numbers. */
static int by_key(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (isnan(p->key) != isnan(q->key))
        return isnan(p->key) ? 1 : -1;
    if (p->key < q->key || p->key > q->key)
        return p->key < q->key ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

static int by_index(const void *a, const void *b)
{
    const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return (p > q) - (p < q);
}

/* One draw without replacement after the other is the same as sorting by -log(U) / chance: Efraimidis
 * and Spirakis, "Weighted random sampling with a reservoir" (2006). */
tutti_status select_pick(tutti_stream *r, const float *losses, int64_t samples, double keep,
                         uint32_t *picked, int64_t count, tutti_error *err)
{
    ranked *list = malloc((size_t)samples * sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "selective_backprop: no memory for %lld losses",
                          (long long)samples);
    for (int64_t k = 0; k < samples; k++)
        list[k] = (ranked){(double)losses[k], (uint32_t)k, 0};
    qsort(list, (size_t)samples, sizeof *list, by_key);
    for (int64_t k = 0; k < samples; k++) {
        const double chance = pow(((double)k + 0.5) / (double)samples, 1.0 / keep - 1.0);
        list[k].key = -log(1.0 - tutti_stream_uniform(r)) / chance;
    }
    qsort(list, (size_t)samples, sizeof *list, by_key);
    for (int64_t k = 0; k < count; k++)
        picked[k] = list[k].index;
    qsort(picked, (size_t)count, sizeof *picked, by_index);
    free(list);
    return TUTTI_OK;
}

int64_t select_size(int64_t size, double scale)
{
    const int64_t n = (int64_t)((double)size * scale);
    return n < 1 && size > 0 ? 1 : n;
}
