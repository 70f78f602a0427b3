/* schedule.c - the schedule: a topological order of a program's steps that needs less memory at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/schedule.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

/* Nodes come in the order in which they were emitted.  Much of that is free: a weight's gradient, say,
 * may wait for a time when activations are gone that its scratch then takes the place of.  Step by
 * step the one that runs at the peak goes later, or one that ends something goes before it, as long
 * as that lowers the peak.  Each step computes what it did, so results stay the same to the bit. */
enum {
    NEAR = 16,        /* how far from the peak steps are looked for that could come before it */
    TRIES_A_STEP = 8, /* of all steps together: bounds the time that this takes */
    MAX_FOLLOWERS = 8, /* stores that move with a step */
    ARENA_KEY = 1,     /* lowest bits of a slot's key */
    EXTERNAL_KEY = 2,
};

static uint64_t key_of(const program *p, tutti_value v)
{
    const tutti_value class = program_alias_set(p, v);
    const alias_set *m = &p->alias_sets[class];
    if (m->location == LOCATION_FIXED)
        return (uint64_t)(uintptr_t)m->fixed; /* aligned */
    return m->location == LOCATION_EXTERNAL ? (uint64_t)m->external << 2 | EXTERNAL_KEY
                                            : (uint64_t) class << 2 | ARENA_KEY;
}

/* ---- measuring ---- */

static void add(schedule *s, uint64_t bytes, uint32_t first, uint32_t last)
{
    s->live[first] += (int64_t)bytes_round(bytes ? bytes : 1);
    s->live[last + 1] -= (int64_t)bytes_round(bytes ? bytes : 1);
}

/* Times by places; with them go the intervals of scratch, of which the map has nothing else yet. */
static void renumber(schedule *s)
{
    program *p = s->p;
    memset(s->scratch, 0, sizeof *s->scratch * (p->nsteps + 2));
    for (uint32_t k = 0; k < p->nsteps; k++) {
        step *it = &p->steps[k];
        it->time = k + (k >= p->cut);
        if (it->scratch_interval == NEVER)
            continue;
        arena_interval *map = &p->intervals[it->scratch_interval];
        map->first = map->last = it->time;
        s->scratch[it->time] = map->bytes;
    }
    s->scratch[p->cut] = bytes_round(s->b->spec->cut_bytes);
}

static double power_32(double x)
{
    for (int k = 0; k < 5; k++)
        x *= x;
    return x;
}

/* Of the steps as they are now. */
peak schedule_measure(schedule *s)
{
    program *p = s->p;
    const uint32_t ntimes = p->nsteps + 2;
    peak h = {0.0, 0, 0, NEVER};
    renumber(s);
    builder_find_lifetimes(s->b);
    memset(s->live, 0, sizeof *s->live * (ntimes + 1));
    for (tutti_value v = 1; v < p->nvalues; v++) {
        const alias_set *m = &p->alias_sets[v];
        if (p->alias_set_of[v] == v && m->used && m->location == LOCATION_ARENA)
            add(s, tutti_nbytes(&graph_value_at(p->g, v)->desc), m->first, m->last);
    }
    uint64_t values = 0;
    for (uint32_t t = 0; t < ntimes; t++) {
        values += (uint64_t)s->live[t];
        const uint64_t now = values + s->scratch[t];
        h.values = values > h.values ? values : h.values;
        if (now > h.bytes) {
            h.bytes = now;
            h.at = t == p->cut || t > p->nsteps ? NEVER : t - (t > p->cut);
        }
        if (!s->floor)
            h.sum += power_32((double)now / s->unit);
        else if (now > s->floor)
            h.sum += (double)(now - s->floor);
    }
    memcpy(p->alias_set_of, s->alias_set_of, sizeof *p->alias_set_of * p->nvalues);
    memcpy(p->alias_sets, s->alias_sets, sizeof *p->alias_sets * p->nvalues);
    return h;
}

/* ---- moving ---- */

/* Slots of a step: inputs, outputs, guard. */
static uint32_t slots_of(const schedule *s, const step *it, uint32_t *ret_out,
                         uint32_t *ret_end)
{
    const uint32_t first = (uint32_t)((void *const *)it->in - s->p->slots);
    *ret_out = first + it->call->nin;
    *ret_end = first + it->call->nin + it->call->nout + (it->guard != NULL);
    return first;
}

static bool writes(const schedule *s, const step *a, uint64_t key)
{
    uint32_t out, end;
    (void)slots_of(s, a, &out, &end);
    for (uint32_t k = out; k < out + a->call->nout; k++)
        if (s->keys[k] == key)
            return true;
    return false;
}

bool schedule_reads(const schedule *s, const step *b, const step *a)
{
    uint32_t out, end;
    for (uint32_t k = slots_of(s, b, &out, &end); k < end; k++)
        if (writes(s, a, s->keys[k]))
            return true;
    return false;
}

/* Whether two steps must keep their order.  Sums over slots do: other slots, whose plans are for other shapes, make them
 * in the same one. */
static bool conflict(const schedule *s, const step *a, const step *b)
{
    return (a->sums && b->sums) || schedule_reads(s, b, a) || schedule_reads(s, a, b);
}

static uint32_t segment_end(const program *p, uint32_t k)
{
    return k < p->cut ? p->cut : p->nsteps;
}

/* Steps k and `upto` change places as far as order allows: step k goes behind step `upto`, stores of
 * its results with it.  False: something between needs it. */
static bool sink(const schedule *s, uint32_t k, uint32_t upto)
{
    step *steps = s->p->steps, unit[MAX_FOLLOWERS];
    uint32_t n = 0, to = k;
    unit[n++] = steps[k];
    for (uint32_t j = k + 1; j <= upto; j++) {
        bool depends = false;
        for (uint32_t i = 0; i < n; i++)
            depends = depends || conflict(s, &unit[i], &steps[j]);
        if (depends && (steps[j].node || n == MAX_FOLLOWERS))
            return false;
        if (depends)
            unit[n++] = steps[j];
        else
            steps[to++] = steps[j];
    }
    memcpy(&steps[to], unit, sizeof *unit * n);
    return to > k;
}

/* Step k goes before step `upto`. */
static bool hoist(const schedule *s, uint32_t k, uint32_t upto)
{
    step *steps = s->p->steps;
    const step moved = steps[k];
    for (uint32_t j = upto; j < k; j++)
        if (conflict(s, &steps[j], &moved))
            return false;
    memmove(&steps[upto + 1], &steps[upto], sizeof *steps * (k - upto));
    steps[upto] = moved;
    return true;
}

/* Keeps what has been moved if that helps, or takes it back. */
static bool settle(schedule *s, bool moved, peak *best)
{
    const size_t size = sizeof *s->steps * s->p->nsteps;
    if (moved) {
        const peak h = schedule_measure(s);
        s->tries++;
        if (h.sum < best->sum) {
            *best = h;
            memcpy(s->steps, s->p->steps, size);
            return true;
        }
    }
    memcpy(s->p->steps, s->steps, size);
    return false;
}

static bool improve(schedule *s, peak *best)
{
    const uint32_t at = best->at;
    const uint32_t first = at < s->p->cut ? 0 : s->p->cut, end = segment_end(s->p, at);
    for (uint32_t k = at + 1; k < end && k <= at + NEAR; k++)
        if (settle(s, hoist(s, k, at), best))
            return true;
    for (uint32_t far = 1; at + far < end; far += far < 4 ? 1 : far / 4)
        if (settle(s, sink(s, at, at + far), best))
            return true;
    for (uint32_t k = at; k-- > first && k + NEAR >= at;)
        if (settle(s, sink(s, k, at), best))
            return true;
    return false;
}

void schedule_find_keys(schedule *s)
{
    for (uint32_t k = 0; k < s->p->nslots; k++)
        s->keys[k] = key_of(s->p, s->p->slot_alias_set[k]);
}

void schedule_search(schedule *s)
{
    const uint32_t most = TRIES_A_STEP * s->p->nsteps;
    const size_t size = sizeof *s->steps * s->p->nsteps;
    memcpy(s->steps, s->p->steps, size);
    memcpy(s->first, s->p->steps, size);
    s->tries = 0;
    s->floor = 1;
    s->floor = schedule_measure(s).values;
    peak best = schedule_measure(s);
    const uint64_t before = best.bytes;
    while (best.bytes > s->floor && best.at != NEVER && s->tries < most / 2 &&
           improve(s, &best))
        ;
    s->unit = (double)before;
    s->floor = 0;
    best = schedule_measure(s);
    while (best.at != NEVER && s->tries < most && improve(s, &best))
        ;
    if (best.bytes >= before)
        memcpy(s->p->steps, s->first, size);
    renumber(s);
}
