/* device_sum.c - the sum over all slots where arrays lie on devices: the same tree, added and moved there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/device_sum.h"
#include "dist/shares.h"
#include "dist/world_internal.h"
#include "tutti/device_collectives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* As sum.c: a piece is cut into shares; an all-to-all brings everybody's blocks of a share to its rank, whose device adds
 * them up in the order of the tree; an all-gather brings the sum to all.  All of that is only enqueued here. */

struct world_device {
    world *world;
    world_device_options options;
    const tutti_device_collectives_v1 *table; /* NULL: one rank */
    void *self;
    bool joined;
    float *memory; /* of the device: what is sent, then what is received */
    uint64_t capacity;
    uint64_t *offsets[2], *bytes[2]; /* by rank: of what is sent, and received */
};

static uint32_t milliseconds(double seconds)
{
    return seconds >= 4e6 ? UINT32_MAX : (uint32_t)ceil(seconds * 1e3);
}

static tutti_status exchange(void *ctx, const void *mine, void *all, uint64_t bytes,
                             tutti_error *err)
{
    return world_exchange(ctx, mine, all, bytes, err);
}

static tutti_status take_tables(world_device *d, tutti_error *err)
{
    const size_t size = (size_t)d->world->info.size;
    uint64_t *all = calloc(4 * size, sizeof *all);
    d->offsets[0] = all;
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    d->offsets[1] = all + size;
    d->bytes[0] = all + 2 * size;
    d->bytes[1] = all + 3 * size;
    return TUTTI_OK;
}

static tutti_status find_table(world_device *d, tutti_error *err)
{
    const world_device_options *o = &d->options;
    if (!o->table->add)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "distributed: the run's device cannot add, so that it sums no "
                          "gradients");
    if (d->world->info.size == 1)
        return TUTTI_OK;
    d->table = instance_query(o->comm, TUTTI_DEVICE_COLLECTIVES_V1);
    d->self = instance_self(o->comm);
    return d->table ? TUTTI_OK
                    : tutti_fail(err, TUTTI_E_UNSUPPORTED,
                                 "device_comm %s has no " TUTTI_DEVICE_COLLECTIVES_V1
                                 ", want one that moves memory of devices, such as nccl",
                                 instance_name(o->comm));
}

static tutti_status join(world_device *d, tutti_error *err)
{
    const world_device_options *o = &d->options;
    const tutti_device_join how = {.struct_size = sizeof how,
                                   .timeout_ms = milliseconds(o->join_s),
                                   .rank = d->world->info.rank,
                                   .size = d->world->info.size,
                                   .table = o->table,
                                   .device = o->device,
                                   .ctx = d->world,
                                   .exchange = exchange};
    if (!d->table)
        return TUTTI_OK;
    d->joined = true; /* also where it fails half-way */
    instance_call c = instance_enter(o->comm, "join");
    const tutti_status s = d->table->join(d->self, &how, err);
    instance_leave(&c);
    if (!s)
        d->table->set_timeout(d->self, milliseconds(o->timeout_s));
    return s;
}

tutti_status world_device_join(world *w, const world_device_options *options,
                               world_device **ret_device, tutti_error *err)
{
    world_device *d = calloc(1, sizeof *d);
    if (!d) /* the others find this rank gone */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    d->world = w;
    d->options = *options;
    tutti_status s = find_table(d, err);
    if (!s)
        s = take_tables(d, err);
    if (s || (s = join(d, err)))
        world_device_leave(d, true);
    else
        *ret_device = d;
    return s;
}

void world_device_leave(world_device *d, bool failed)
{
    if (!d)
        return;
    if (d->joined) {
        instance_call c = instance_enter(d->options.comm, "leave");
        d->table->leave(d->self, failed);
        instance_leave(&c);
    }
    d->options.table->release(d->options.device, d->memory);
    free(d->offsets[0]);
    free(d);
}

/* ---- sums ---- */

static uint64_t largest_share(const world *w, int64_t n)
{
    int64_t most = 0;
    for (int32_t r = 0; r < w->info.size; r++) {
        const int64_t one = world_share(w, n, r + 1) - world_share(w, n, r);
        most = one > most ? one : most;
    }
    return (uint64_t)most;
}

static uint64_t count_blocks(const world *w, int64_t slots)
{
    const world_piece any = {.slots = slots};
    slot_span blocks[SLOT_BLOCKS];
    uint64_t all = 0;
    for (int32_t r = 0; r < w->info.size; r++)
        all += sum_blocks(w, &any, r, blocks);
    return all;
}

tutti_status world_device_reserve(world_device *d, int64_t slots, int64_t n, tutti_error *err)
{
    slot_span blocks[SLOT_BLOCKS];
    const world_piece any = {.slots = slots};
    const world *w = d->world;
    void *memory = NULL;
    if (!d->table)
        return TUTTI_OK;
    const uint64_t numbers = (uint64_t)n * sum_blocks(w, &any, w->info.rank, blocks) +
                             largest_share(w, n) * count_blocks(w, slots);
    if (numbers <= d->capacity)
        return TUTTI_OK;
    d->options.table->release(d->options.device, d->memory);
    d->memory = NULL;
    d->capacity = 0;
    const tutti_status s =
        d->options.table->alloc(d->options.device, numbers * sizeof(float), &memory, err);
    if (s)
        return s;
    d->memory = memory;
    d->capacity = numbers;
    return TUTTI_OK;
}

static tutti_status copy(const world_device *d, float *to, const float *from, int64_t n,
                         tutti_error *err)
{
    return d->options.table->copy(d->options.device, NULL, to, from, (uint64_t)n * sizeof *to,
                                  TUTTI_COPY_ON_DEVICE, err);
}

static tutti_status join_last(world_device *d, slot_stack *s, int64_t n, tutti_error *err)
{
    slot_sum *left = &s->sums[s->count - 2];
    left->span.count += left[1].span.count;
    s->count--;
    return d->options.table->add(d->options.device, NULL, left->data, left[1].data, (uint64_t)n,
                                 err);
}

tutti_status world_device_push(world_device *d, slot_stack *s, slot_sum sum, int64_t n,
                               tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    s->sums[s->count++] = sum;
    while (!status && s->count > 1 &&
           s->sums[s->count - 2].span.count == s->sums[s->count - 1].span.count)
        status = join_last(d, s, n, err);
    return status;
}

/* The sum of all, where it belongs. */
static tutti_status finish_stack(world_device *d, slot_stack *s, float *result, int64_t n,
                                 tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    while (!status && s->count > 1)
        status = join_last(d, s, n, err);
    if (status || s->count == 0 || s->sums[0].data == result)
        return status;
    return copy(d, result, s->sums[0].data, n, err);
}

static tutti_status sum_alone(world_device *d, const world_piece *p, tutti_error *err)
{
    slot_stack stack = {.count = 0};
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < p->count && !s; k++)
        s = world_device_push(d, &stack, (slot_sum){p->mine[k].data + p->at, p->mine[k].span},
                              p->n, err);
    return s ? s : finish_stack(d, &stack, p->result + p->at, p->n, err);
}

/* Lays this rank's blocks out by share, and says where what is received will lie. */
static tutti_status pack(world_device *d, const world_piece *p, int64_t share, tutti_error *err)
{
    const world *w = d->world;
    slot_span blocks[SLOT_BLOCKS];
    int64_t end = 0, received = 0;
    tutti_status s = TUTTI_OK;
    for (int32_t r = 0; r < w->info.size && !s; r++) {
        const int64_t first = world_share(w, p->n, r), n = world_share(w, p->n, r + 1) - first;
        d->offsets[0][r] = (uint64_t)end * sizeof(float);
        d->bytes[0][r] = (uint64_t)n * p->count * sizeof(float);
        for (uint32_t k = 0; k < p->count && !s; k++, end += n)
            s = copy(d, d->memory + end, p->mine[k].data + p->at + first, n, err);
        const int64_t from = share * sum_blocks(w, p, r, blocks);
        d->offsets[1][r] = (uint64_t)received * sizeof(float);
        d->bytes[1][r] = (uint64_t)from * sizeof(float);
        received += from;
    }
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
        w->counts.bytes += r == w->info.rank ? 0 : out.bytes[r];
    instance_call c = instance_enter(d->options.comm, "all_to_all");
    tutti_status s = d->table->all_to_all(d->self, &out, &in, &request, err);
    if (!s) /* what the device does next waits for it */
        s = d->table->order(d->self, request, err);
    instance_leave(&c);
    return s;
}

static tutti_status add_share(world_device *d, const world_piece *p, float *received, int64_t n,
                              float *result, tutti_error *err)
{
    const world *w = d->world;
    slot_span blocks[SLOT_BLOCKS];
    slot_stack stack = {.count = 0};
    tutti_status s = TUTTI_OK;
    for (int32_t r = 0; n > 0 && r < w->info.size && !s; r++) {
        const uint32_t count = sum_blocks(w, p, r, blocks);
        for (uint32_t k = 0; k < count && !s; k++, received += n)
            s = world_device_push(d, &stack, (slot_sum){received, blocks[k]}, n, err);
    }
    return s ? s : finish_stack(d, &stack, result, n, err);
}

static tutti_status gather(world_device *d, float *data, int64_t n, tutti_error *err)
{
    uint64_t request = 0;
    world *w = d->world;
    for (int32_t r = 0; r < w->info.size; r++) {
        const int64_t first = world_share(w, n, r);
        d->offsets[0][r] = (uint64_t)first * sizeof(float);
        d->bytes[0][r] = (uint64_t)(world_share(w, n, r + 1) - first) * sizeof(float);
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

/* The comm hears what the other ranks are told. */
static void tell(world_device *d)
{
    struct timespec now;
    world *w = d->world;
    tutti_progress p = {.step = w->step};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    p.since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    (void)snprintf(p.phase, sizeof p.phase, "summing gradients, bucket %llu",
                   (unsigned long long)++w->buckets[0]);
    world_tell_phase(w, p.phase);
    d->table->tell(d->self, &p);
}

tutti_status world_device_sum(world_device *d, const world_piece *p, tutti_error *err)
{
    const world *w = d->world;
    const int64_t first = world_share(w, p->n, w->info.rank);
    const int64_t n = world_share(w, p->n, w->info.rank + 1) - first;
    float *received = d->memory + (uint64_t)p->n * p->count;
    if (!d->table)
        return sum_alone(d, p, err);
    tell(d);
    d->world->counts.sums++;
    tutti_status s = pack(d, p, n, err);
    if (s || (s = transpose(d, received, err)) ||
        (s = add_share(d, p, received, n, p->result + p->at + first, err)))
        return s;
    return gather(d, p->result + p->at, p->n, err);
}

tutti_status world_device_finish(world_device *d, tutti_error *err)
{
    if (!d->table)
        return TUTTI_OK;
    instance_call c = instance_enter(d->options.comm, "finish");
    const tutti_status s = d->table->finish(d->self, err);
    instance_leave(&c);
    return s;
}
