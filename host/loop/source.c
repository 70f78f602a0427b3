/* source.c - the data under way, and the seeds that go with its restarts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_internal.h"

int64_t loop_data_length(const tutti_loop_data *data)
{
    const int64_t length = data && data->length ? data->length(data->ctx) : -1;
    return length < 0 ? TUTTI_LOOP_NONE : length;
}

/* ---- the generator: SplitMix64 over a counter ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t tutti_loop_random(tutti_loop *l)
{
    return mix(mix(l->random.rng.key) + ++l->random.rng.counter * 0x9e3779b97f4a7c15u);
}

void tutti_loop_seed(tutti_loop *l, uint64_t seed)
{
    l->random.rng = (tutti_loop_rng){.key = seed, .counter = 0};
}

tutti_loop_rng tutti_loop_get_rng(const tutti_loop *l)
{
    return l->random.rng;
}

void tutti_loop_set_rng(tutti_loop *l, tutti_loop_rng rng)
{
    l->random.rng = rng;
}

/* ---- restarts ---- */

/* seed + iteration / length: the same for a pass over the data however it is reached.  A pass of
 * unknown length counts as 1, one that was cut as what it gave. */
static void reseed(tutti_loop *l, int64_t iteration, int64_t cut_at)
{
    if (l->state.seed == TUTTI_LOOP_NONE)
        return;
    int64_t length = cut_at != TUTTI_LOOP_NONE ? cut_at : loop_data_length(l->source.live);
    if (length < 1)
        length = 1;
    const uint64_t seed = (uint64_t)l->state.seed + (uint64_t)(iteration / length);
    tutti_loop_seed(l, seed);
    if (l->options.reseed)
        l->options.reseed(l->options.reseed_ctx, seed);
}

static tutti_status start_over(tutti_loop *l, tutti_error *err)
{
    l->source.live = l->state.data;
    l->source.open = true;
    l->source.nothings = l->state.epoch_length;
    return l->source.live && l->source.live->restart
               ? l->source.live->restart(l->source.live->ctx, err)
               : TUTTI_OK;
}

/* A deterministic loop finds its place in the pass that was under way. */
static tutti_status find_place(tutti_loop *l, tutti_error *err)
{
    const tutti_loop_data *d = l->source.live;
    const int64_t length = loop_data_length(d);
    const int64_t place = length > 0 ? l->state.iteration % length : l->state.iteration;
    tutti_status s = TUTTI_OK;
    if (place > 0 && d->seek)
        s = d->seek(d->ctx, place, err);
    for (int64_t k = 0; k < place && !d->seek && !s; k++) {
        void *dropped;
        s = d->next(d->ctx, &dropped, err);
    }
    if (s == TUTTI_LOOP_END) /* the first fetch finds the end again */
        s = TUTTI_OK;
    if (!s && place > 0 && l->random.has_saved)
        l->random.rng = l->random.saved;
    l->random.has_saved = false;
    return s;
}

tutti_status loop_data_open(tutti_loop *l, tutti_error *err)
{
    l->source.live = l->state.data;
    const bool seekable =
        l->source.live && (l->source.live->seek || loop_data_length(l->source.live) >= 0);
    reseed(l, l->options.deterministic && !seekable ? 0 : l->state.iteration, TUTTI_LOOP_NONE);
    const tutti_status s = start_over(l, err);
    if (s) {
        l->source.open = false;
        return s;
    }
    return l->options.deterministic ? find_place(l, err) : TUTTI_OK;
}

tutti_status loop_data_restart(tutti_loop *l, int64_t cut_at, tutti_error *err)
{
    l->source.live = l->state.data;
    reseed(l, l->state.iteration, cut_at);
    return start_over(l, err);
}

tutti_status loop_data_next(tutti_loop *l, tutti_error *err)
{
    if (l->source.live)
        return l->source.live->next(l->source.live->ctx, &l->state.batch, err);
    if (l->source.nothings < 1)
        return TUTTI_LOOP_END;
    l->source.nothings--;
    return TUTTI_OK;
}

tutti_status tutti_loop_set_data(tutti_loop *l, const tutti_loop_data *data, tutti_error *err)
{
    if (data && !data->next)
        return tutti_fail(err, TUTTI_E_ARG, "the data cannot be iterated: it has no next");
    l->state.data = data;
    return start_over(l, err);
}
