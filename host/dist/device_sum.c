/* device_sum.c - the sum over all slots where arrays lie on devices: the same tree, added and moved there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/device_internal.h"

#include <stdio.h>
#include <time.h>

/* As reduce_scatter.c: a piece is cut into shards; an all-to-all brings everybody's blocks of a shard to its rank, whose device adds
 * them up in the order of the tree; an all-gather brings the sum to all.  All of that is only enqueued here, on a stream of
 * its own, so that the device computes meanwhile, and who waits for the computation does not wait for other ranks. */

static tutti_status copy(const world_device *d, float *to, const float *from, int64_t n,
                         tutti_error *err)
{
    return d->options.table->copy(d->options.device, d->stream, to, from,
                                  (uint64_t)n * sizeof *to, TUTTI_COPY_ON_DEVICE, err);
}

/* What the own stream has been given so far comes before what the other one is given next. */
static tutti_status follow(const world_device *d, tutti_error *err)
{
    const tutti_device_v1 *t = d->options.table;
    if (!d->stream)
        return TUTTI_OK;
    const tutti_status s = t->event_record(d->options.device, d->event, NULL, err);
    return s ? s : t->event_wait(d->options.device, d->stream, d->event, err);
}

static tutti_status convert(const world_device *d, void *stream, void *to, int32_t to_dtype,
                            const void *from, int64_t n, tutti_error *err)
{
    return d->options.convert(d->options.ctx, stream, to, to_dtype, from, n, err);
}

/* By way of 16 bits.  Two streams do not do so at a time. */
static tutti_status round_on(const world_device *d, void *stream, float *numbers, int64_t n,
                             tutti_error *err)
{
    void *half = d->memory + d->regions.sent + d->regions.received + d->regions.narrow;
    tutti_status s = TUTTI_OK;
    for (int64_t at = 0; d->options.convert && at < n && !s; at += d->most) {
        const int64_t some = n - at < d->most ? n - at : d->most;
        s = convert(d, stream, half, TUTTI_BF16, numbers + at, some, err);
        if (!s)
            s = convert(d, stream, numbers + at, TUTTI_F32, half, some, err);
    }
    return s;
}

/* A node of the tree. */
static tutti_status add(const world_device *d, void *stream, float *to, const float *from,
                        int64_t n, tutti_error *err)
{
    const tutti_status s =
        d->options.table->add(d->options.device, stream, to, from, (uint64_t)n, err);
    return s ? s : round_on(d, stream, to, n, err);
}

static tutti_status join_last(const world_device *d, void *stream, slot_stack *s, int64_t n,
                              tutti_error *err)
{
    slot_sum *left = &s->sums[s->count - 2];
    left->span.count += left[1].span.count;
    s->count--;
    return add(d, stream, left->data, left[1].data, n, err);
}

static tutti_status push(const world_device *d, void *stream, slot_stack *s, slot_sum sum,
                         int64_t n, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    s->sums[s->count++] = sum;
    while (!status && s->count > 1 &&
           s->sums[s->count - 2].span.count == s->sums[s->count - 1].span.count)
        status = join_last(d, stream, s, n, err);
    return status;
}

tutti_status world_device_push(world_device *d, slot_stack *s, slot_sum sum, int64_t n,
                               tutti_error *err)
{
    return push(d, NULL, s, sum, n, err);
}

tutti_status world_device_round(world_device *d, float *numbers, int64_t n, tutti_error *err)
{
    return round_on(d, NULL, numbers, n, err);
}

tutti_status world_device_add_part(world_device *d, const slot_stack *s, float *part,
                                   int64_t at, int64_t n, tutti_error *err)
{
    tutti_status status = follow(d, err);
    if (!status)
        status = round_on(d, d->stream, part, n, err);
    for (uint32_t k = s->count; k > 0 && !status; k--) {
        status = add(d, d->stream, s->sums[k - 1].data + at, part, n, err);
        part = s->sums[k - 1].data + at;
    }
    return status;
}

/* The sum of all, where it belongs. */
static tutti_status finish_stack(world_device *d, slot_stack *s, float *result, int64_t n,
                                 tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    while (!status && s->count > 1)
        status = join_last(d, d->stream, s, n, err);
    if (status || s->count == 0 || s->sums[0].data == result)
        return status;
    return copy(d, result, s->sums[0].data, n, err);
}

/* The same, or where rounds follow what there is of it to the piece's rounds. */
static tutti_status put_down(world_device *d, const world_piece *p, slot_stack *s,
                             float *result, int64_t n, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    if (sum_is_over(d->world, p))
        return finish_stack(d, s, result, n, err);
    for (uint32_t k = 0; k < s->count && !status; k++) {
        float *to = p->rounds->sums[k] + p->own_at;
        if (to != s->sums[k].data)
            status = copy(d, to, s->sums[k].data, n, err);
    }
    return status;
}

static tutti_status sum_alone(world_device *d, const world_piece *p, tutti_error *err)
{
    slot_stack stack = {.count = 0};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < p->count && !s; k++)
        s = push(d, d->stream, &stack, (slot_sum){p->mine[k].data + p->at, p->mine[k].span},
                 p->n, err);
    return s ? s : finish_stack(d, &stack, p->result + p->at, p->n, err);
}

/* ---- what travels: F32, or BF16 of numbers that have no more ---- */

static uint64_t unit(const world_device *d)
{
    return d->options.convert ? sizeof(uint16_t) : sizeof(float);
}

/* Number `at` of what is sent, or received. */
static void *wire(const world_device *d, float *memory, uint64_t at)
{
    return (char *)memory + at * unit(d);
}

static tutti_status narrow(const world_device *d, void *to, const float *from, int64_t n,
                           tutti_error *err)
{
    return d->options.convert ? convert(d, d->stream, to, TUTTI_BF16, from, n, err)
                              : copy(d, to, from, n, err);
}

static tutti_status widen(const world_device *d, float *to, const void *from, int64_t n,
                          tutti_error *err)
{
    return d->options.convert ? convert(d, d->stream, to, TUTTI_F32, from, n, err) : TUTTI_OK;
}

/* Where numbers are received that are then added at `received`. */
static float *receiver(const world_device *d, float *received)
{
    return d->options.convert ? received + d->regions.received : received;
}

/* Lays this rank's blocks out by shard, and says where what is received will lie: so many numbers. */
static tutti_status pack(world_device *d, const world_piece *p, int64_t shard,
                         int64_t *ret_received, tutti_error *err)
{
    const world *w = d->world;
    slot_span blocks[SLOT_BLOCKS];
    int64_t end = 0, received = 0;
    tutti_status s = TUTTI_OK;
    for (int32_t r = 0; r < w->info.size && !s; r++) {
        const int64_t first = world_shard_begin(w, p->n, r), n = world_shard_length(w, p->n, r);
        d->offsets[0][r] = (uint64_t)end * unit(d);
        d->bytes[0][r] = (uint64_t)n * p->count * unit(d);
        for (uint32_t k = 0; k < p->count && !s; k++, end += n)
            s = narrow(d, wire(d, d->memory, (uint64_t)end), p->mine[k].data + p->at + first, n,
                       err);
        const int64_t from = shard * sum_blocks(w, p, r, blocks);
        d->offsets[1][r] = (uint64_t)received * unit(d);
        d->bytes[1][r] = (uint64_t)from * unit(d);
        received += from;
    }
    *ret_received = received;
    return s;
}

static tutti_status transpose(world_device *d, float *receive, tutti_error *err)
{
    uint64_t request = 0;
    world *w = d->world;
    const tutti_parts out = {.struct_size = sizeof out,
                             .data = d->memory,
                             .offsets = d->offsets[0],
                             .bytes = d->bytes[0]};
    const tutti_parts in = {.struct_size = sizeof in,
                            .data = receive,
                            .offsets = d->offsets[1],
                            .bytes = d->bytes[1]};
    for (int32_t r = 0; r < w->info.size; r++)
        WORLD_COUNT(w->counts.bytes, r == w->info.rank ? 0 : out.bytes[r]);
    instance_call c = instance_enter(d->options.comm, "all_to_all");
    tutti_status s = d->table->all_to_all(d->self, &out, &in, &request, err);
    if (!s) /* what the stream is given next waits for it */
        s = d->table->order(d->self, request, err);
    instance_leave(&c);
    return s;
}

static tutti_status add_shard(world_device *d, const world_piece *p, float *received, int64_t n,
                              float *result, tutti_error *err)
{
    const world *w = d->world;
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.count = 0};
    tutti_status s = TUTTI_OK;
    sum_take_up(w, p, &stack);
    for (int32_t r = 0; n > 0 && r < w->info.size && !s; r++) {
        const uint32_t count = sum_blocks(w, p, r, blocks);
        for (uint32_t k = 0; k < count && !s; k++, received += n)
            s = push(d, d->stream, &stack, (slot_sum){received, blocks[k]}, n, err);
    }
    return s || n == 0 ? s : put_down(d, p, &stack, result, n, err);
}

static tutti_status gather(world_device *d, void *data, int64_t n, uint64_t bytes,
                           tutti_error *err)
{
    uint64_t request = 0;
    world *w = d->world;
    for (int32_t r = 0; r < w->info.size; r++) {
        const int64_t first = world_shard_begin(w, n, r);
        d->offsets[0][r] = (uint64_t)first * bytes;
        d->bytes[0][r] = (uint64_t)world_shard_length(w, n, r) * bytes;
    }
    const tutti_parts parts = {.struct_size = sizeof parts,
                               .data = data,
                               .offsets = d->offsets[0],
                               .bytes = d->bytes[0]};
    world_count_told(w, parts.bytes[w->info.rank]);
    instance_call c = instance_enter(d->options.comm, "all_gather");
    tutti_status s = d->table->all_gather(d->self, &parts, &request, err);
    if (!s)
        s = d->table->order(d->self, request, err);
    instance_leave(&c);
    return s;
}

/* The sums of this rank's shard to all. */
static tutti_status gather_sums(world_device *d, const world_piece *p, tutti_error *err)
{
    const world *w = d->world;
    const int64_t first = world_shard_begin(w, p->n, w->info.rank);
    const int64_t n = world_shard_length(w, p->n, w->info.rank);
    float *result = p->result + p->at;
    void *sent = d->options.convert ? (void *)d->memory : result;
    tutti_status s = d->options.convert ? narrow(d, wire(d, d->memory, (uint64_t)first),
                                                 result + first, n, err)
                                        : TUTTI_OK;
    if (!s)
        s = gather(d, sent, p->n, unit(d), err);
    return s ? s : widen(d, result, sent, p->n, err);
}

/* The comm hears what the other ranks are told. */
static void tell(world_device *d)
{
    struct timespec now;
    world_piece one = {.phase = ""};
    tutti_error unheard = TUTTI_ERROR_INIT;
    tutti_progress p = {.step = d->world->told_step};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    p.since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    (void)snprintf(p.phase, sizeof p.phase, "summing gradients, bucket %llu",
                   (unsigned long long)++d->bucket);
    (void)snprintf(one.phase, sizeof one.phase, "%s", p.phase);
    world_post_phase(d->world, &one, &unheard);
    d->table->tell(d->self, &p);
}

tutti_status world_device_sum(world_device *d, const world_piece *p, tutti_error *err)
{
    const world *w = d->world;
    const int64_t first = world_shard_begin(w, p->n, w->info.rank);
    const int64_t n = world_shard_length(w, p->n, w->info.rank);
    int64_t count = 0;
    if (!d->table)
        return sum_alone(d, p, err);
    float *received = d->memory + d->regions.sent;
    tell(d);
    WORLD_COUNT(d->world->counts.sums, 1);
    tutti_status s = follow(d, err);
    if (s || (s = pack(d, p, n, &count, err)) ||
        (s = transpose(d, receiver(d, received), err)) ||
        (s = widen(d, received, receiver(d, received), count, err)) ||
        (s = add_shard(d, p, received, n, p->result + p->at + first, err)))
        return s;
    return p->shard_only || !sum_is_over(w, p) ? TUTTI_OK : gather_sums(d, p, err);
}

tutti_status world_device_gather_shards(world_device *d, float *data, int64_t n,
                                        tutti_error *err)
{
    const int64_t most = world_bucket(d->world);
    if (!d->table)
        return TUTTI_OK;
    tutti_status s = follow(d, err);
    for (int64_t first = 0; first < n && !s; first += most)
        s = gather(d, data + first, n - first < most ? n - first : most, sizeof *data, err);
    return s ? s : world_device_settle(d, err);
}
