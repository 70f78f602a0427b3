/* select.c - choosing samples by their losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <math.h>

/* The i-th smallest loss and when it is drawn. */
typedef struct drawn {
    double key;
    uint32_t rank;
    uint32_t reserved;
} drawn;

int64_t select_count(int64_t samples, double keep)
{
    const int64_t count = (int64_t)(keep * (double)samples);
    return count < 1 && samples > 0 ? 1 : count;
}

static int by_key(const void *a, const void *b)
{
    const drawn *p = a, *q = b;
    if (p->key < q->key || p->key > q->key)
        return p->key < q->key ? -1 : 1;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

/* One draw without replacement after the other is the same as sorting by -log(U) / chance: Efraimidis
 * and Spirakis, "Weighted random sampling with a reservoir" (2006). */
tutti_status select_ranks(tutti_stream *r, int64_t samples, double keep, uint32_t *chosen,
                          int64_t count, tutti_error *err)
{
    drawn *list = malloc((size_t)samples * sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "selective_backprop: no memory for %lld losses",
                          (long long)samples);
    for (int64_t k = 0; k < samples; k++) {
        const double chance = pow(((double)k + 0.5) / (double)samples, 1.0 / keep - 1.0);
        list[k] = (drawn){-log(1.0 - tutti_stream_uniform(r)) / chance, (uint32_t)k, 0};
        chosen[k] = 0;
    }
    qsort(list, (size_t)samples, sizeof *list, by_key);
    for (int64_t k = 0; k < count; k++)
        chosen[list[k].rank] = 1;
    free(list);
    return TUTTI_OK;
}

int64_t select_size(int64_t size, double scale)
{
    const int64_t n = (int64_t)((double)size * scale);
    return n < 1 && size > 0 ? 1 : n;
}
