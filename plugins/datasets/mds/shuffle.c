/* shuffle.c - the same draws as MosaicML Streaming's in the same order, so that its samples come out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle.h"

#include "numpy_rng.h"

#include <stdlib.h>
#include <string.h>

/* Neighbouring samples [begin, end) that stay together until the last step. */
typedef struct span {
    int64_t begin, end;
} span;

typedef struct spans {
    span *items;
    int64_t *first; /* nodes + 1: the spans of node n are [first[n], first[n + 1]) */
    int64_t count;
    int64_t samples;
} spans;

static int64_t span_size(const span *s)
{
    return s->end - s->begin;
}

/* ---- units, shuffled and divided ---- */

/* Cuts the `count` spans at `from` where a node's share of the samples ends.  A node of few samples may have none. */
static void divide_spans(spans *s, const span *from, int64_t count, int64_t nodes)
{
    int64_t at = 0, seen = 0;
    span rest = count ? from[0] : (span){0, 0};
    s->count = 0;
    for (int64_t node = 0; node < nodes; node++) {
        const int64_t end =
            (int64_t)((numpy_u128)s->samples * (numpy_u128)(node + 1) / (numpy_u128)nodes);
        s->first[node] = s->count;
        while (at < count && seen + span_size(&rest) <= end) {
            s->items[s->count++] = rest;
            seen += span_size(&rest);
            rest = ++at < count ? from[at] : rest;
        }
        if (at < count && seen < end) {
            s->items[s->count++] = (span){rest.begin, rest.begin + (end - seen)};
            rest.begin += end - seen;
            seen = end;
        }
    }
    s->first[nodes] = s->count;
}

/* One span a unit, in the order of the run, divided among the nodes.  With `scattered`, spans count places there,
 * whose samples `run` has shuffled in each unit. */
static tutti_status make_spans(const mds_shuffle *sh, numpy_rng *run, const int64_t *units,
                               int64_t nunits, int64_t *scattered, spans *ret, tutti_error *err)
{
    span *whole = malloc(((size_t)nunits + 1) * sizeof *whole);
    int64_t at = 0;
    *ret = (spans){malloc((size_t)(nunits + sh->nodes + 1) * sizeof *ret->items),
                   malloc((size_t)(sh->nodes + 1) * sizeof *ret->first), 0, 0};
    if (!whole || !ret->items || !ret->first) {
        free(whole);
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to shuffle %lld shards",
                          (long long)nunits);
    }
    for (int64_t k = 0; k < nunits; k++) {
        whole[k] = (span){ret->samples, ret->samples + units[k]};
        ret->samples += units[k];
    }
    numpy_rng_shuffle(run, whole, nunits, sizeof *whole);
    for (int64_t k = 0; scattered && k < nunits; k++) {
        const int64_t size = span_size(&whole[k]);
        for (int64_t i = 0; i < size; i++)
            scattered[at + i] = whole[k].begin + i;
        numpy_rng_shuffle(run, scattered + at, size, sizeof *scattered);
        whole[k] = (span){at, at + size};
        at += size;
    }
    divide_spans(ret, whole, nunits, sh->nodes);
    free(whole);
    return TUTTI_OK;
}

static void spans_fini(spans *s)
{
    free(s->items);
    free(s->first);
}

static void shuffle_node(spans *s, int64_t node, numpy_rng *epoch)
{
    numpy_rng_shuffle(epoch, s->items + s->first[node], s->first[node + 1] - s->first[node],
                      sizeof *s->items);
}

/* The samples of the node's spans one after the other; returns how many. */
static int64_t write_node(const spans *s, int64_t node, int64_t *ret)
{
    int64_t n = 0;
    for (int64_t k = s->first[node]; k < s->first[node + 1]; k++)
        for (int64_t i = s->items[k].begin; i < s->items[k].end; i++)
            ret[n++] = i;
    return n;
}

/* ---- samples ---- */

/* The same, the samples of each span shuffled. */
static int64_t write_shuffled(const spans *s, int64_t node, numpy_rng *epoch, int64_t *ret)
{
    const int64_t n = write_node(s, node, ret);
    for (int64_t k = s->first[node]; k < s->first[node + 1]; k++) {
        numpy_rng_shuffle(epoch, ret, span_size(&s->items[k]), sizeof *ret);
        ret += span_size(&s->items[k]);
    }
    return n;
}

static void shuffle_py1s(const mds_shuffle *sh, const spans *s, numpy_rng *epoch, int64_t *ret)
{
    for (int64_t node = 0; node < sh->nodes; node++)
        ret += write_shuffled(s, node, epoch, ret);
}

static void shuffle_py2s(const mds_shuffle *sh, spans *s, const int64_t *scattered,
                         numpy_rng *epoch, int64_t *ret)
{
    for (int64_t node = 0; node < sh->nodes; node++) {
        shuffle_node(s, node, epoch);
        for (int64_t k = s->first[node]; k < s->first[node + 1]; k++) {
            const int64_t size = span_size(&s->items[k]);
            memcpy(ret, scattered + s->items[k].begin, (size_t)size * sizeof *ret);
            numpy_rng_shuffle(epoch, ret, size, sizeof *ret);
            ret += size;
        }
    }
}

/* The blocks of a node's `count` samples: 0.75 to 1.25 times the size, from up to 0.75 of it before the end of the last. */
static tutti_status draw_blocks(int64_t block, numpy_rng *epoch, int64_t stagger, int64_t count,
                                span **ret_blocks, int64_t *ret_count, tutti_error *err)
{
    const int64_t low = (int64_t)(0.75 * (double)block), high = (int64_t)(1.25 * (double)block);
    span *blocks = NULL;
    int64_t n = 0, room = 0;
    for (int64_t at = 0; at < count; n++) {
        const int64_t stop = at + numpy_rng_integer(epoch, low, high) - stagger;
        if (n == room) {
            room = 2 * room + 16;
            span *more = realloc(blocks, (size_t)room * sizeof *more);
            if (!more) {
                free(blocks);
                return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory for blocks of samples");
            }
            blocks = more;
        }
        blocks[n] = (span){at > stagger ? at - stagger : 0, stop < count ? stop : count};
        at += span_size(&blocks[n]);
    }
    *ret_blocks = blocks;
    *ret_count = n;
    return TUTTI_OK;
}

static tutti_status shuffle_py1br(const mds_shuffle *sh, spans *s, numpy_rng *epoch,
                                  int64_t *ret, tutti_error *err)
{
    int64_t *stagger = malloc((size_t)sh->nodes * sizeof *stagger);
    tutti_status status = stagger ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory");
    for (int64_t node = 0; stagger && node < sh->nodes; node++)
        stagger[node] = numpy_rng_integer(epoch, 0, (int64_t)(0.75 * (double)sh->block));
    for (int64_t node = 0; !status && node < sh->nodes; node++) {
        const int64_t count = write_node(s, node, ret);
        span *blocks = NULL;
        int64_t n = 0;
        if ((status = draw_blocks(sh->block, epoch, stagger[node], count, &blocks, &n, err)))
            break;
        for (int64_t k = 0; k < n; k++)
            numpy_rng_shuffle(epoch, ret + blocks[k].begin, span_size(&blocks[k]), sizeof *ret);
        free(blocks);
        ret += count;
    }
    free(stagger);
    return status;
}

/* A sample and where it wants to be. */
typedef struct moved {
    double position;
    int64_t sample;
    int64_t place; /* settles what two positions leave open */
} moved;

static int compare_moved(const void *a_, const void *b_)
{
    const moved *a = a_, *b = b_;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Moves the samples of a span, which begins at `offset` of the node's `count`, so that they stay within a block around it
 * and within the node. */
static void move_span(int64_t block, numpy_rng *epoch, moved *at, int64_t offset, int64_t size,
                      int64_t count)
{
    const int64_t drawn = numpy_rng_integer(epoch, (int64_t)(0.75 * (double)block),
                                            (int64_t)(1.25 * (double)block));
    const double free_part = (double)(drawn - size) / 2;
    const double most = free_part > 0 ? free_part : 0;
    const double left = (double)offset, right = (double)(count - offset - size);
    const double low = most < left ? -most : -left, high = most < right ? most : right;
    for (int64_t k = 0; k < size; k++)
        at[k].position += numpy_rng_uniform(epoch, low, high);
}

static tutti_status shuffle_py1e(const mds_shuffle *sh, spans *s, numpy_rng *epoch,
                                 int64_t *ret, tutti_error *err)
{
    moved *all = calloc((size_t)s->samples + 1, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to shuffle %lld samples",
                          (long long)s->samples);
    for (int64_t node = 0; node < sh->nodes; node++) {
        const int64_t count = write_shuffled(s, node, epoch, ret);
        int64_t offset = 0;
        for (int64_t k = 0; k < count; k++)
            all[k] = (moved){(double)k, ret[k], k};
        for (int64_t k = s->first[node]; k < s->first[node + 1]; k++) {
            const int64_t size = span_size(&s->items[k]);
            move_span(sh->block, epoch, all + offset, offset, size, count);
            offset += size;
        }
        qsort(all, (size_t)count, sizeof *all, compare_moved);
        for (int64_t k = 0; k < count; k++)
            ret[k] = all[k].sample;
        ret += count;
    }
    free(all);
    return TUTTI_OK;
}

/* ---- all of it ---- */

static void shuffle_naive(const int64_t *units, int64_t nunits, numpy_rng *epoch, int64_t *ret)
{
    int64_t samples = 0;
    for (int64_t k = 0; k < nunits; k++)
        samples += units[k];
    numpy_rng_permutation(epoch, samples, ret);
}

static tutti_status shuffle_spans(const mds_shuffle *sh, spans *s, const int64_t *scattered,
                                  numpy_rng *epoch, int64_t *ret, tutti_error *err)
{
    if (sh->algo == MDS_PY2S) {
        shuffle_py2s(sh, s, scattered, epoch, ret);
        return TUTTI_OK;
    }
    for (int64_t node = 0; node < sh->nodes; node++)
        shuffle_node(s, node, epoch);
    if (sh->algo == MDS_PY1BR)
        return shuffle_py1br(sh, s, epoch, ret, err);
    if (sh->algo == MDS_PY1E)
        return shuffle_py1e(sh, s, epoch, ret, err);
    shuffle_py1s(sh, s, epoch, ret);
    return TUTTI_OK;
}

tutti_status mds_shuffle_samples(const mds_shuffle *sh, const int64_t *units, int64_t nunits,
                                 int64_t epoch, int64_t *ret, tutti_error *err)
{
    numpy_rng of_run, of_epoch;
    spans s = {NULL, NULL, 0, 0};
    int64_t *scattered = NULL, samples = 0;
    numpy_rng_init(&of_run, sh->seed);
    numpy_rng_init(&of_epoch, sh->seed + (uint64_t)epoch);
    if (sh->algo == MDS_NAIVE) {
        shuffle_naive(units, nunits, &of_epoch, ret);
        return TUTTI_OK;
    }
    for (int64_t k = 0; k < nunits; k++)
        samples += units[k];
    if (sh->algo == MDS_PY2S &&
        !(scattered = malloc(((size_t)samples + 1) * sizeof *scattered)))
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to shuffle %lld samples",
                          (long long)samples);
    tutti_status status = make_spans(sh, &of_run, units, nunits, scattered, &s, err);
    if (!status)
        status = shuffle_spans(sh, &s, scattered, &of_epoch, ret, err);
    spans_fini(&s);
    free(scattered);
    return status;
}
