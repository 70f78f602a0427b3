/* order.c - samples drawn from each stream's shards, shuffled, divided among nodes that take turns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include "numpy_rng.h"

#include <stdlib.h>
#include <string.h>

/* What an epoch has of the set. */
typedef struct drawn {
    int64_t *samples; /* one after the other by shards, one as often as it comes */
    int64_t *units;   /* how many of them belong together: at most a shard's */
    int64_t nsamples, nunits;
} drawn;

static int64_t epoch_samples(const mds_order *o)
{
    int64_t n = 0;
    for (int64_t k = 0; k < o->nstreams; k++)
        n += o->streams[k].choose;
    return n;
}

static tutti_status no_memory(const mds_order *o, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for the order of %lld samples",
                      (long long)epoch_samples(o));
}

/* ---- how many samples each shard gives ---- */

/* Picks of `granularity` samples, the last of a shard of what is left, in random order until `missing` are found. */
static tutti_status pick_samples(const mds_order *o, const int64_t *shards, int64_t count,
                                 uint64_t seed, int64_t missing, int64_t *choose,
                                 tutti_error *err)
{
    const int64_t size = o->granularity;
    int64_t picks = 0, at = 0;
    for (int64_t k = 0; k < count; k++)
        picks += (shards[k] + size - 1) / size;
    int64_t *shard = malloc((size_t)picks * 3 * sizeof *shard);
    if (!shard)
        return no_memory(o, err);
    int64_t *samples = shard + picks, *turn = samples + picks;
    for (int64_t k = 0; k < count; k++)
        for (int64_t left = shards[k]; left > 0; left -= size) {
            shard[at] = k;
            samples[at++] = left < size ? left : size;
        }
    numpy_rng rng;
    numpy_rng_init(&rng, seed);
    numpy_rng_permutation(&rng, picks, turn);
    for (int64_t k = 0; missing > 0; k++) {
        const int64_t n = samples[turn[k]] < missing ? samples[turn[k]] : missing;
        choose[shard[turn[k]]] += n;
        missing -= n;
    }
    free(shard);
    return TUTTI_OK;
}

static tutti_status choose_samples(const mds_order *o, const mds_stream *s,
                                   const int64_t *shards, int64_t epoch, int64_t *choose,
                                   tutti_error *err)
{
    const uint64_t turn = o->mixed && !o->fixed ? (uint64_t)epoch : 0;
    for (int64_t k = 0; k < s->shards; k++)
        choose[k] = shards[k] * (s->choose / s->samples);
    const int64_t missing = s->choose % s->samples;
    return missing ? pick_samples(o, shards, s->shards, o->shuffle.seed + turn, missing, choose,
                                  err)
                   : TUTTI_OK;
}

/* ---- which ones ---- */

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* `choose` of the shard's samples, whose first is number `first`. */
static tutti_status draw_shard(drawn *d, numpy_rng *rng, int64_t first, int64_t samples,
                               int64_t choose, tutti_error *err)
{
    for (; samples && choose >= samples; choose -= samples) {
        d->units[d->nunits++] = samples;
        for (int64_t i = 0; i < samples; i++)
            d->samples[d->nsamples++] = first + i;
    }
    if (!choose)
        return TUTTI_OK;
    int64_t *to = d->samples + d->nsamples;
    const tutti_status s = numpy_rng_choice(rng, samples, choose, to, err);
    for (int64_t i = 0; i < choose; i++)
        to[i] += first;
    qsort(to, (size_t)choose, sizeof *to, compare_numbers);
    d->units[d->nunits++] = choose;
    d->nsamples += choose;
    return s;
}

static void drawn_fini(drawn *d)
{
    free(d->samples);
    free(d->units);
}

static tutti_status draw_streams(const mds_order *o, int64_t epoch, const int64_t *choose,
                                 drawn *d, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    numpy_rng rng;
    int64_t shard = 0, first = 0;
    numpy_rng_init(&rng, o->shuffle.seed + (o->fixed ? 0 : (uint64_t)epoch));
    for (int64_t k = 0; k < o->nstreams; k++)
        for (int64_t i = 0; i < o->streams[k].shards && !s; i++, shard++) {
            s = draw_shard(d, &rng, first, o->shards[shard], choose[shard], err);
            first += o->shards[shard];
        }
    return s;
}

static tutti_status draw_epoch(const mds_order *o, int64_t epoch, drawn *d, tutti_error *err)
{
    const int64_t samples = epoch_samples(o);
    int64_t nshards = 0, units = 0, at = 0;
    tutti_status s = TUTTI_OK;
    for (int64_t k = 0; k < o->nstreams; k++)
        nshards += o->streams[k].shards;
    int64_t *choose = malloc(((size_t)nshards + 1) * sizeof *choose);
    if (!choose)
        return no_memory(o, err);
    for (int64_t k = 0; k < o->nstreams && !s; at += o->streams[k++].shards)
        s = choose_samples(o, &o->streams[k], o->shards + at, epoch, choose + at, err);
    for (int64_t k = 0; k < nshards && !s; k++)
        units += o->shards[k] ? choose[k] / o->shards[k] + 1 : 0;
    *d = (drawn){calloc((size_t)samples + 1, sizeof *d->samples),
                 malloc(((size_t)units + 1) * sizeof *d->units), 0, 0};
    if (!s)
        s = d->samples && d->units ? draw_streams(o, epoch, choose, d, err) : no_memory(o, err);
    free(choose);
    return s;
}

/* ---- places ---- */

int64_t mds_order_places(const mds_order *o)
{
    const int64_t nodes = o->shuffle.nodes;
    return (epoch_samples(o) + nodes - 1) / nodes * nodes;
}

/* The sample, of `n`, at a place: the nodes have neighbouring ones and take turns. */
static int64_t place_sample(int64_t place, int64_t n, int64_t nodes)
{
    if (n < nodes)
        return place % n;
    const int64_t node = place % nodes, row = place / nodes;
    const int64_t first = node * n / nodes, end = (node + 1) * n / nodes;
    return first + row < end ? first + row : end - 1;
}

tutti_status mds_order_samples(const mds_order *o, int64_t epoch, int64_t *ret,
                               tutti_error *err)
{
    drawn d = {NULL, NULL, 0, 0};
    int64_t *turn = NULL;
    tutti_status s = draw_epoch(o, epoch, &d, err);
    if (!s && o->mixed) {
        turn = calloc((size_t)d.nsamples + 1, sizeof *turn);
        s = turn ? mds_shuffle_samples(&o->shuffle, d.units, d.nunits, epoch, turn, err)
                 : no_memory(o, err);
    }
    const int64_t places = mds_order_places(o);
    for (int64_t k = 0; k < places && !s; k++) {
        const int64_t at = place_sample(k, d.nsamples, o->shuffle.nodes);
        ret[k] = d.samples[turn ? turn[at] : at];
    }
    free(turn);
    drawn_fini(&d);
    return s;
}
