/* forecast.c - what a training step over many ranks would take: memory, bytes between ranks, time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/forecast.h"
#include "dist/slots.h"

#include <math.h>

static int64_t count_slots(const forecast_run *run, int64_t microbatch)
{
    return (run->samples + microbatch - 1) / microbatch;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Arrays of gradients that a rank's slots need at once, beside the arena (host/train/ranks/slot_gradients.c). */
static int64_t count_arrays(slot_span span, bool has_buffers)
{
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.count = 0};
    int64_t done = 0, most = 0;
    float unused;
    (void)slots_blocks(span, blocks);
    for (int64_t slot = span.first; slot + 1 < span.first + span.count; slot++) {
        if (has_buffers || !slot_stack_takes(&stack, slot))
            most = larger(most, done + stack.count + 1);
        slot_stack_push(&stack, (slot_sum){&unused, {slot, 1}}, 0, 1);
        if (slot + 1 == blocks[done].first + blocks[done].count) {
            stack.count = 0;
            done++;
        }
    }
    return most;
}

/* What the ranks of a world have of the slots. */
typedef struct division {
    int64_t most_slots, arrays;
    int64_t rounds;      /* in which all of this is summed */
    uint32_t blocks;     /* at most on a rank */
    uint64_t all_blocks; /* of all ranks */
    int32_t machines, together;
    uint32_t machine_blocks;     /* at most on a machine */
    uint64_t all_machine_blocks; /* of all machines */
} division;

/* Blocks of the tree wholly on one machine; of a round each machine has the slots of its ranks. */
static void divide_machines(const forecast_run *run, int64_t slots, int32_t ranks, division *d)
{
    slot_span blocks[SLOT_BLOCKS];
    d->together = run->link.together < 1       ? 1
                  : run->link.together < ranks ? run->link.together
                                               : ranks;
    for (int32_t first = 0; first < ranks; first += d->together, d->machines++) {
        const int32_t end = first + d->together < ranks ? first + d->together : ranks;
        slot_span span = {first, (end < slots ? end : slots) - (first < slots ? first : slots)};
        if (!run->rounds) {
            const slot_span last = slots_of_rank(slots, ranks, end - 1);
            span = slots_of_rank(slots, ranks, first);
            span.count = last.first + last.count - span.first;
        }
        const uint32_t n = slots_blocks(span, blocks);
        d->machine_blocks = n > d->machine_blocks ? n : d->machine_blocks;
        d->all_machine_blocks += n;
    }
}

static division divide(const forecast_run *run, int64_t slots, int32_t ranks)
{
    slot_span blocks[SLOT_BLOCKS];
    division d = {.blocks = 0, .rounds = 1};
    divide_machines(run, slots, ranks, &d);
    if (run->rounds && ranks > 1) {
        d.most_slots = d.rounds = slots_rounds(slots, ranks);
        d.blocks = 1;
        d.all_blocks = (uint64_t)(slots < ranks ? slots : ranks);
        return d;
    }
    for (int32_t r = 0; r < ranks; r++) {
        const slot_span span = slots_of_rank(slots, ranks, r);
        const uint32_t n = slots_blocks(span, blocks);
        d.most_slots = larger(d.most_slots, span.count);
        d.arrays = larger(d.arrays, count_arrays(span, run->buffers > 0));
        d.blocks = n > d.blocks ? n : d.blocks;
        d.all_blocks += n;
    }
    return d;
}

/* Whether weights are gathered for each pass of each slot, not behind the update. */
static bool weights_are_sharded(const forecast_run *run, int32_t ranks)
{
    return run->shards_weights && run->rounds && !run->gathers && ranks > 1;
}

/* Sharded weights: a rank's own, and the buckets around those that are read.  Sharded gradients: a rank's own, the
 * weight whose gradient is being computed and buckets that wait for their sums; and what rounds have come to. */
static void fill_shards(const forecast_run *run, int32_t ranks, forecast *ret)
{
    const int64_t there = run->weights / ranks +
                          (run->largest + run->waiting * run->bucket) * (ranks - 1) / ranks;
    const uint64_t own =
        (uint64_t)(run->weights + run->buffers) * sizeof(float) / (uint64_t)ranks;
    if (!run->gathers && !run->whole && there < run->weights)
        ret->gradients = (uint64_t)there * sizeof(float);
    const int64_t read = larger(run->largest, run->bucket) + (run->ahead + 1) * run->bucket;
    const int64_t weights = run->weights / ranks + read * (ranks - 1) / ranks;
    if (weights_are_sharded(run, ranks) && weights < run->weights)
        ret->weights = (uint64_t)weights * sizeof(float);
    ret->sums = slots_waiting(ret->slots, ranks) * own;
}

/* Numbers of a bucket of `n` that are laid out to be sent, and that have come.  A rank's only block is sent from where it
 * lies, and own numbers are added where they lie (reduce_scatter.c); of machines with several ranks (hierarchical_collectives.c), in 16
 * bits and in rounds all are copied. */
static uint64_t under_way(const forecast_run *run, const division *d, uint64_t ranks,
                          uint64_t n)
{
    const bool copied = run->half || run->rounds || (d->machines > 1 && d->together > 1);
    const uint64_t sent = copied || d->blocks > 1 ? d->blocks : 0;
    const uint64_t came = copied ? d->all_blocks : d->all_blocks - 1;
    return sent * n + (came * n + ranks - 1) / ranks;
}

/* Buckets that are under way at once; one where a rank's gradients are sharded, whose memory is given back. */
static uint64_t at_once(const forecast_run *run, int64_t bucket)
{
    const int64_t all = bucket > 0 ? (run->weights + bucket - 1) / bucket : 1;
    if (run->rounds && !run->gathers && !run->whole)
        return 1;
    return (uint64_t)(all < PIPELINE_BUCKETS ? larger(1, all) : PIPELINE_BUCKETS);
}

static void fill_memory(const forecast_run *run, const division *d, int32_t ranks,
                        forecast *ret)
{
    const int64_t bucket = run->bucket < run->weights ? run->bucket : run->weights;
    ret->weights = ret->gradients = (uint64_t)run->weights * sizeof(float);
    ret->state = run->shards_state ? run->state / (uint64_t)ranks : run->state;
    ret->sums = (uint64_t)d->arrays * (uint64_t)(run->weights + run->buffers) * sizeof(float);
    if (run->rounds && ranks > 1)
        fill_shards(run, ranks, ret);
    if (ranks > 1)
        ret->sums += at_once(run, bucket) *
                     under_way(run, d, (uint64_t)ranks, (uint64_t)bucket) * sizeof(float);
    ret->results = run->plan;
    if (run->statistics.waits && d->most_slots > 1) { /* side by side */
        ret->results *= (uint64_t)d->most_slots;
        ret->sums += (uint64_t)(d->most_slots - 1) * (uint64_t)run->weights * sizeof(float);
    }
    ret->total = ret->weights + ret->gradients + ret->state + ret->sums + ret->results;
}

/* Statistics of slots, in f64, go from each rank to all, wherever these are. */
static void add_statistics(const forecast_run *run, const division *d, int32_t ranks,
                           forecast *ret)
{
    const double bytes = 8.0 * (double)d->most_slots * (double)run->statistics.numbers;
    const int32_t near = d->together - 1, far = ranks - d->together;
    ret->sent += (uint64_t)((near + far) * bytes);
    ret->crossing += (uint64_t)(far * bytes);
    ret->exposed_s += (double)run->statistics.waits * (d->machines - 1) * run->link.latency_s +
                      d->together * far * bytes / run->link.bytes_per_s;
    if (near > 0)
        ret->exposed_s += d->together * near * bytes / run->link.copied_per_s;
}

/* Bytes of a gradient on its way. */
static double unit(const forecast_run *run)
{
    return run->half ? 2.0 : 4.0;
}

/* The fraction of what is on `n` that goes to the others of them. */
static double to_others(int32_t n)
{
    return (double)(n - 1) / n;
}

/* Seconds of `bytes` that all ranks of a machine give and get together. */
static double crossing_s(const forecast_run *run, const division *d, double bytes)
{
    return d->machines > 1 ? bytes * to_others(d->machines) / run->link.bytes_per_s : 0.0;
}

static double copying_s(const forecast_run *run, const division *d, double bytes)
{
    return d->together > 1 ? bytes * to_others(d->together) / run->link.copied_per_s : 0.0;
}

/* Seconds of the collectives on one bucket of `numbers`.  Of a machine's ranks each carries its shards of the bucket. */
static double all_to_all_s(const forecast_run *run, const division *d, int32_t ranks,
                           double numbers)
{
    const double bytes = numbers * unit(run);
    const double near = copying_s(run, d, bytes * d->blocks);
    const double summed_near = d->together > 1 ? numbers * d->blocks : 0.0;
    const double far = ceil(log2(d->machines)) * run->link.latency_s +
                       crossing_s(run, d, bytes * d->machine_blocks);
    const double summed_far = numbers * (double)d->all_machine_blocks / ranks;
    return near + far + run->add_s * (summed_near + summed_far);
}

static double all_gather_s(const forecast_run *run, const division *d, double bytes)
{
    return (d->machines - 1) * run->link.latency_s + crossing_s(run, d, bytes) +
           copying_s(run, d, bytes);
}

/* When the last bucket is summed, after the backward pass of the last slot has begun. */
static double summed_s(const forecast_run *run, const division *d, int32_t ranks, bool gathers)
{
    const double numbers = (double)(run->weights + run->buffers);
    const int64_t count = larger(1, (int64_t)ceil(numbers / (double)run->bucket));
    const double one = numbers / (double)count, backward = run->slot_s * 2 / 3;
    const double takes = all_to_all_s(run, d, ranks, one) +
                         (gathers ? all_gather_s(run, d, one * unit(run)) : 0.0);
    double end = 0.0;
    for (int64_t k = 0; k < count; k++)
        end =
            fmax(end, run->no_overlap ? backward : backward * (double)(k + 1) / (double)count) +
            takes;
    return end;
}

void forecast_step(const forecast_run *run, int32_t ranks, forecast *ret)
{
    const int64_t slots = count_slots(run, run->microbatch);
    const division d = divide(run, slots, ranks);
    const bool gathers = !run->shards_state || run->gathers;
    const double bytes = 4.0 * (double)run->weights;
    const double summed = unit(run) * (double)run->weights;
    *ret = (forecast){.slots = slots, .most_slots = d.most_slots, .blocks = d.blocks};
    fill_memory(run, &d, ranks, ret);
    const double computing = (double)d.most_slots * run->slot_s;
    const double update = run->shards_state ? run->update_s / ranks : run->update_s;
    if (ranks > 1) {
        const double backward = run->slot_s * 2 / 3;
        const bool sharded = weights_are_sharded(run, ranks);
        const double gathered = sharded ? 2.0 * (double)d.rounds : run->shards_state;
        const double all = summed * gathers + bytes * gathered; /* as often as it is gathered */
        const double crossing = to_others(d.machines) / d.together *
                                (summed * (double)d.rounds * d.machine_blocks + all);
        const double near =
            to_others(d.together) * (summed * (double)d.rounds * d.blocks + all);
        ret->crossing = (uint64_t)crossing;
        ret->sent = (uint64_t)(crossing + near);
        ret->exposed_s =
            (double)(d.rounds - 1) * fmax(0.0, summed_s(run, &d, ranks, false) - backward) +
            fmax(0.0, summed_s(run, &d, ranks, gathers) - backward);
        if (sharded) /* beside a slot's computation, before its end */
            ret->exposed_s +=
                (double)d.rounds * fmax(0.0, 2.0 * all_gather_s(run, &d, bytes) - run->slot_s);
        else if (run->shards_state)
            ret->exposed_s += fmax(0.0, all_gather_s(run, &d, bytes) -
                                            (run->gathers_beside ? run->slot_s / 3 : 0.0));
        add_statistics(run, &d, ranks, ret);
    }
    ret->step_s = computing + update + ret->exposed_s;
    ret->efficiency =
        ((double)slots * run->slot_s / ranks + update) / (ret->step_s > 0 ? ret->step_s : 1);
}

static bool is_even(const forecast_run *run, int64_t slots, int32_t ranks)
{
    const int64_t each = slots / ranks;
    return slots % ranks == 0 && (run->rounds || (each & (each - 1)) == 0);
}

int64_t forecast_better_microbatch(const forecast_run *run, int32_t ranks)
{
    for (int64_t size = run->microbatch; size > 0; size--)
        if (run->samples % size == 0 && is_even(run, run->samples / size, ranks))
            return size;
    return 0;
}

int32_t forecast_better_ranks(const forecast_run *run, int32_t ranks)
{
    const int64_t slots = count_slots(run, run->microbatch);
    while (ranks > 1 && !(slots >= ranks && is_even(run, slots, ranks)))
        ranks--;
    return ranks;
}
