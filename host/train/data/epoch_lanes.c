/* epoch_lanes.c - groups of samples dealt to lanes, shuffled window by window, taken slot by slot. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_lanes.h"
#include "train/data/permutation.h"

#include <stdlib.h>

/* Draws of lanes are not those of shuffles. */
enum { LANES_RNG = TUTTI_RNG_SHUFFLE + 0x4c414e45 };

/* ---- the groups of a dataset ---- */

tutti_status epoch_lanes_read_groups(epoch_lanes *l, const char *name, void *self,
                                     int64_t samples, tutti_error *err)
{
    l->groups = l->table->count(self);
    if (l->groups < l->settings.lanes)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "shuffle: %lld lanes, and dataset %s has %lld groups of samples, such "
            "as shards; want no more lanes than groups",
            (long long)l->settings.lanes, name, (long long)l->groups);
    if ((uint64_t)l->groups < SIZE_MAX / sizeof *l->first)
        l->first = malloc(((size_t)l->groups + 1) * sizeof *l->first);
    if (!l->first)
        return tutti_fail(err, TUTTI_E_NOMEM, "shuffle: no memory for %lld groups of samples",
                          (long long)l->groups);
    l->first[l->groups] = samples;
    for (int64_t g = 0; g < l->groups; g++) {
        l->first[g] = l->table->first(self, g);
        if (l->first[g] < (g ? l->first[g - 1] : 0) || l->first[g] > (g ? samples : 0))
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "dataset %s: group %lld begins at sample %lld of %lld, and the "
                              "one before it at %lld",
                              name, (long long)g, (long long)l->first[g], (long long)samples,
                              (long long)(g ? l->first[g - 1] : 0));
    }
    return TUTTI_OK;
}

tutti_status epoch_lanes_init(epoch_lanes *l, int64_t samples, tutti_error *err)
{
    if (instance_query(l->dataset, TUTTI_SAMPLE_ORDER_V1))
        return tutti_fail(err, TUTTI_E_ARG,
                          "shuffle: dataset %s has an order of its own, and so no lanes",
                          instance_name(l->dataset));
    l->table = instance_query(l->dataset, TUTTI_SAMPLE_GROUPS_V1);
    if (!l->table)
        return tutti_fail(err, TUTTI_E_ARG,
                          "shuffle: dataset %s has no groups of samples, such as shards, that "
                          "lanes could have",
                          instance_name(l->dataset));
    instance_call c = instance_enter(l->dataset, "groups");
    const tutti_status s = epoch_lanes_read_groups(l, instance_name(l->dataset),
                                                   instance_self(l->dataset), samples, err);
    instance_leave(&c);
    return s;
}

void epoch_lanes_fini(epoch_lanes *l)
{
    free(l->first);
    l->first = NULL;
}

void epoch_lanes_expect(const epoch_lanes *l, const int64_t *samples, int64_t count)
{
    if (!l->table || !TUTTI_HAS(l->table, tutti_sample_groups_v1, expect) || !l->table->expect)
        return;
    instance_call c = instance_enter(l->dataset, "expect");
    l->table->expect(instance_self(l->dataset), samples, (uint64_t)count);
    instance_leave(&c);
}

/* ---- dealing ---- */

typedef struct lane {
    int64_t share;   /* samples that a batch takes */
    int64_t samples; /* that it has */
    int64_t groups;
    int64_t at;   /* the next one, in `rows` */
    int64_t *own; /* its groups, in `lanes_work.dealt` */
} lane;

/* What making one order takes. */
typedef struct lanes_work {
    lane *lanes;
    int64_t *heap;  /* lanes, the one with the fewest samples for its share first */
    int64_t *to;    /* of each place in the order of groups: which lane has it */
    int64_t *dealt; /* groups, lane by lane, in the order in which they were dealt */
    int64_t *rows;  /* samples, lane by lane, shuffled */
} lanes_work;

static permutation permutation_of(const tutti_epoch *e, uint64_t n, uint64_t part)
{
    const tutti_rng4 r = tutti_rng(e->seed, LANES_RNG, (uint64_t)e->epoch, part);
    return permutation_make(n, (uint64_t)r.v[0] << 32 | r.v[1], (uint64_t)e->epoch);
}

/* How many samples of a full batch each lane gives; an epoch's last batch may want fewer. */
static void share_out(const epoch_lanes *l, lane *lanes)
{
    for (int64_t row = 0, slot = 0; row < l->batch_size; row += l->slot_size, slot++) {
        const int64_t left = l->batch_size - row;
        lanes[slot % l->settings.lanes].share += left < l->slot_size ? left : l->slot_size;
    }
}

/* Whether lane a takes the next group rather than lane b. */
static bool is_emptier(const lane *lanes, int64_t a, int64_t b)
{
    const double of_a = (double)lanes[a].samples / (double)lanes[a].share;
    const double of_b = (double)lanes[b].samples / (double)lanes[b].share;
    return of_a != of_b ? of_a < of_b : a < b;
}

/* Moves the lane at the heap's top, which has got more samples, to its place. */
static void sift_down(int64_t *heap, int64_t n, const lane *lanes)
{
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_emptier(lanes, heap[child + 1], heap[child]);
        if (is_emptier(lanes, heap[at], heap[child]))
            return;
        const int64_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

static void deal(const epoch_lanes *l, const tutti_epoch *epoch, const lanes_work *w)
{
    const permutation order = permutation_of(epoch, (uint64_t)l->groups, 0);
    const int64_t n = l->settings.lanes;
    int64_t *own = w->dealt, at = 0;
    for (int64_t k = 0; k < n; k++)
        w->heap[k] = k;
    for (int64_t k = 0; k < l->groups; k++) {
        const int64_t g = (int64_t)permutation_at(&order, (uint64_t)k), to = w->heap[0];
        w->to[k] = to;
        w->lanes[to].groups++;
        w->lanes[to].samples += l->first[g + 1] - l->first[g];
        sift_down(w->heap, n, w->lanes);
    }
    for (int64_t k = 0; k < n; k++) {
        w->lanes[k].own = own;
        w->lanes[k].at = at;
        own += w->lanes[k].groups;
        at += w->lanes[k].samples;
        w->lanes[k].groups = 0;
    }
    for (int64_t k = 0; k < l->groups; k++) {
        lane *to = &w->lanes[w->to[k]];
        to->own[to->groups++] = (int64_t)permutation_at(&order, (uint64_t)k);
    }
}

/* ---- shuffling ---- */

/* The samples of `n` groups to `rows`; returns how many. */
static int64_t shuffle_window(const epoch_lanes *l, const tutti_epoch *epoch, uint64_t part,
                              const int64_t *groups, int64_t n, int64_t *rows)
{
    int64_t count = 0, at = 0;
    for (int64_t k = 0; k < n; k++)
        count += l->first[groups[k] + 1] - l->first[groups[k]];
    const permutation order = permutation_of(epoch, (uint64_t)count, part);
    for (int64_t k = 0; k < n; k++)
        for (int64_t s = l->first[groups[k]]; s < l->first[groups[k] + 1]; s++)
            rows[permutation_at(&order, (uint64_t)at++)] = s;
    return count;
}

static void shuffle_lane(const epoch_lanes *l, const tutti_epoch *epoch, int64_t number,
                         const lane *of, int64_t *rows)
{
    const int64_t window = l->settings.window;
    int64_t *to = rows + of->at;
    for (int64_t k = 0, part = 0; k < of->groups; k += window, part++) {
        const int64_t left = of->groups - k, n = left < window ? left : window;
        const uint64_t key = (uint64_t)(number + 1) << 32 | (uint64_t)part;
        to += shuffle_window(l, epoch, key, of->own + k, n, to);
    }
}

/* ---- taking ---- */

static void take(const epoch_lanes *l, const lanes_work *w, int64_t *index)
{
    const int64_t samples = l->first[l->groups], n = l->settings.lanes;
    for (int64_t k = 0; k < n; k++)
        w->lanes[k].samples += w->lanes[k].at; /* the lane's end */
    for (int64_t place = 0; place < samples; place++) {
        int64_t from = place % l->batch_size / l->slot_size % n;
        while (w->lanes[from].at == w->lanes[from].samples)
            from = (from + 1) % n;
        index[place] = w->rows[w->lanes[from].at++];
    }
}

tutti_status epoch_lanes_order(const epoch_lanes *l, const tutti_epoch *epoch, int64_t *index,
                               tutti_error *err)
{
    const size_t lanes = (size_t)l->settings.lanes, groups = (size_t)l->groups;
    const int64_t samples = l->first[l->groups];
    lanes_work w = {.lanes = calloc(lanes, sizeof *w.lanes),
                    .heap = calloc(lanes, sizeof *w.heap),
                    .to = calloc(groups, sizeof *w.to),
                    .dealt = calloc(groups, sizeof *w.dealt),
                    .rows = calloc((size_t)samples, sizeof *w.rows)};
    const bool enough = w.lanes && w.heap && w.to && w.dealt && w.rows;
    if (enough) {
        share_out(l, w.lanes);
        deal(l, epoch, &w);
        for (int64_t k = 0; k < l->settings.lanes; k++)
            shuffle_lane(l, epoch, k, &w.lanes[k], w.rows);
        take(l, &w, index);
    }
    free(w.lanes);
    free(w.heap);
    free(w.to);
    free(w.dealt);
    free(w.rows);
    return enough ? TUTTI_OK
                  : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the order of %lld samples",
                               (long long)samples);
}
