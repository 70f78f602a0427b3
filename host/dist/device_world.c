/* device_world.c - joining the devices of all ranks, and the memory of their sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/device_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (!all || !meetings_take(&d->meetings, size))
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

static tutti_status take_stream(world_device *d, tutti_error *err)
{
    const tutti_device_v1 *t = d->options.table;
    if (!d->table)
        return TUTTI_OK;
    tutti_status s = t->stream_create(d->options.device, &d->stream, err);
    if (!s)
        s = t->event_create(d->options.device, &d->event, err);
    return s ? s : t->event_create(d->options.device, &d->done, err);
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
                                   .exchange = exchange,
                                   .stream = d->stream};
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
    if (!s)
        s = take_stream(d, err);
    s = world_agree(w, s, err); /* none is in the comm's meeting while another has given up */
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
    d->options.table->event_destroy(d->options.device, d->event);
    d->options.table->event_destroy(d->options.device, d->done);
    d->options.table->stream_destroy(d->options.device, d->stream);
    d->options.table->release(d->options.device, d->memory);
    meetings_fini(&d->meetings, d->world);
    free(d->offsets[0]);
    free(d);
}

/* ---- memory ---- */

static uint64_t largest_shard(const world *w, int64_t n)
{
    int64_t most = 0;
    for (int32_t r = 0; r < w->info.size; r++) {
        const int64_t one = world_shard_length(w, n, r);
        most = one > most ? one : most;
    }
    return (uint64_t)most;
}

static uint64_t count_blocks(const world *w, const world_piece *any)
{
    slot_span blocks[SLOT_BLOCKS];
    uint64_t all = 0;
    for (int32_t r = 0; r < w->info.size; r++)
        all += sum_blocks(w, any, r, blocks);
    return all;
}

/* Numbers that a piece sends, and receives; what travels in 16 bits has a place of its own behind them. */
static sum_regions regions_for(const world *w, const world_piece *any)
{
    slot_span blocks[SLOT_BLOCKS];
    const uint64_t n = (uint64_t)any->n;
    sum_regions all = {.sent = n * sum_blocks(w, any, w->info.rank, blocks),
                       .received = largest_shard(w, any->n) * count_blocks(w, any)};
    if (!any->half)
        return all;
    if (all.sent < n) /* a gather sends the sums from there */
        all.sent = n;
    all.narrow = (all.received + 1) / 2;
    all.rounded = (n + 1) / 2;
    return all;
}

tutti_status world_device_reserve(world_device *d, const world_piece *any, tutti_error *err)
{
    void *memory = NULL;
    if (!d->table && !any->half)
        return TUTTI_OK;
    d->regions = regions_for(d->world, any);
    d->most = any->n;
    d->bucket = 0;
    const uint64_t numbers =
        d->regions.sent + d->regions.received + d->regions.narrow + d->regions.rounded;
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
