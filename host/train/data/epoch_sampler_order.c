/* epoch_sampler_order.c - orders that samplers give, out of weights and lengths. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_sampler_order.h"
#include "tutti/rng.h"

#include <stdlib.h>

/* Draws of samplers are not those of shuffles. */
enum { SAMPLER_RNG = TUTTI_RNG_SHUFFLE + 0x53414d50 };

static double epoch_sampler_uniform(const tutti_epoch *e, int64_t k)
{
    const tutti_rng4 r = tutti_rng(e->seed, SAMPLER_RNG, (uint64_t)e->epoch, (uint64_t)k);
    return tutti_uniform_f64(r.v[0], r.v[1]);
}

void epoch_sampler_draw(const double *sums, int64_t samples, const tutti_epoch *epoch,
                        int64_t places, int64_t *index)
{
    for (int64_t k = 0; k < places; k++) {
        const double at = epoch_sampler_uniform(epoch, k) * sums[samples - 1];
        int64_t low = 0, high = samples - 1; /* the first whose sum is above `at` */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (sums[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        while (low > 0 && sums[low] == sums[low - 1]) /* rounding chose one of weight 0 */
            low--;
        index[k] = low;
    }
}

typedef struct epoch_sampler_rank {
    double key;
    int64_t number;
} epoch_sampler_rank;

/* By rising key, equal ones by number. */
static int compare_ranks(const void *a, const void *b)
{
    const epoch_sampler_rank *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static epoch_sampler_rank *take_ranks(int64_t n, tutti_error *err)
{
    epoch_sampler_rank *ranks = calloc((size_t)n + 1, sizeof *ranks);
    if (!ranks)
        (void)tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of %lld samples",
                         (long long)n);
    return ranks;
}

tutti_status epoch_sampler_draw_once(const double *weight, int64_t samples,
                                     const tutti_epoch *epoch, int64_t places, int64_t *index,
                                     tutti_error *err)
{
    int64_t n = 0;
    epoch_sampler_rank *ranks = take_ranks(samples, err);
    if (!ranks)
        return TUTTI_E_NOMEM;
    for (int64_t k = 0; k < samples; k++)
        if (weight[k] > 0.0)
            ranks[n++] = (epoch_sampler_rank){
                -log(1.0 - epoch_sampler_uniform(epoch, k)) / weight[k], k};
    qsort(ranks, (size_t)n, sizeof *ranks, compare_ranks);
    for (int64_t k = 0; k < places && k < n; k++)
        index[k] = ranks[k].number;
    free(ranks);
    return TUTTI_OK;
}

/* Samples of a part. */
static int64_t part_of(int64_t samples, int64_t batch_size)
{
    enum { MOST = 50, LEAST_PARTS = 4 };
    const int64_t batches = samples / batch_size / LEAST_PARTS;
    return batch_size * (batches < 1 ? 1 : batches > MOST ? MOST : batches);
}

tutti_status epoch_sampler_group(const int64_t *length, int64_t samples, int64_t batch_size,
                                 int64_t *index, tutti_error *err)
{
    const int64_t part = part_of(samples, batch_size);
    int64_t longest = 0;
    epoch_sampler_rank *ranks = take_ranks(part, err);
    if (!ranks)
        return TUTTI_E_NOMEM;
    int64_t *at = malloc((size_t)part * sizeof *at);
    for (int64_t from = 0; at && from < samples; from += part) {
        const int64_t n = samples - from < part ? samples - from : part;
        for (int64_t k = 0; k < n; k++) {
            at[k] = index[from + k];
            ranks[k] = (epoch_sampler_rank){-(double)length[at[k]], k};
        }
        qsort(ranks, (size_t)n, sizeof *ranks, compare_ranks);
        for (int64_t k = 0; k < n; k++)
            index[from + k] = at[ranks[k].number];
        if (length[index[from]] > length[index[longest]])
            longest = from;
    }
    free(ranks);
    if (!at)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of %lld samples",
                          (long long)samples);
    free(at);
    const int64_t first = index[0];
    index[0] = index[longest];
    index[longest] = first;
    return TUTTI_OK;
}
