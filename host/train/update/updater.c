/* updater.c - optimizer groups over the flat arenas, their state, their rates from the schedulers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/updater.h"

#include "graph/runtime/device_memory.h"
#include "graph/surgery/surgery.h"
#include "train/update/optimizer_shards.h"
#include "train/update/optimizer_state.h"
#include "train/update/plugin_kernels.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Elements between two weights are fewer. */
enum { MOST_PADDING = 32 };

/* A weight of so many numbers has a range of its own, on the host: each thread updates the rows whose gradients its products
 * have written, and which they read next.  Where caches are far apart what another thread has written comes late. */
enum { APART = 65536 };

/* Whether every group has a kernel on the device, and all read there what changes from step to step. */
static void find_kernels(updater *u)
{
    u->has_kernels = u->reads_numbers = true;
    for (size_t k = 0; k < u->ngroups; k++) {
        const tutti_optimizer_v1 *table = u->groups[k].table;
        u->has_kernels = u->has_kernels && u->groups[k].kernel;
        u->reads_numbers = u->reads_numbers && u->groups[k].kernel &&
                           TUTTI_HAS(table, tutti_optimizer_v1, reads_numbers) &&
                           table->reads_numbers;
    }
}

tutti_status updater_open(updater *u, plugin_kernels *kernels, tutti_error *err)
{
    run_file *run = u->run->file;
    u->groups = calloc(run->ngroups, sizeof *u->groups);
    u->schedulers = calloc(run->schedules.schedulers.count + 1, sizeof *u->schedulers);
    if (!u->groups || !u->schedulers)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for optimizer groups");
    for (size_t k = 0; k < run->ngroups; k++) {
        optimizer_group *g = &u->groups[k];
        const tutti_status s = context_open(u->run, &run->groups[k].part, &g->optimizer, err);
        if (s)
            return s;
        u->ngroups = k + 1;
        g->table = instance_query(g->optimizer, TUTTI_OPTIMIZER_V1);
        if (!g->table)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "optimizer %s has no " TUTTI_OPTIMIZER_V1,
                              run->groups[k].part.name);
        g->kernel = kernels_run_there(kernels, g->optimizer) &&
                    TUTTI_HAS(g->table, tutti_optimizer_v1, update_on_device) &&
                    g->table->update_on_device;
        g->by_weight =
            TUTTI_HAS(g->table, tutti_optimizer_v1, by_weight) && g->table->by_weight;
        u->norm.wanted = u->norm.wanted ||
                         (g->by_weight && TUTTI_HAS(g->table, tutti_optimizer_v1, reads_norm) &&
                          g->table->reads_norm);
        g->match = run->groups[k].match;
        g->lr = g->table->lr;
        if (g->table->nslots > u->nslots)
            u->nslots = g->table->nslots;
    }
    find_kernels(u);
    if (u->nslots > TUTTI_OPTIMIZER_MAX_SLOTS)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "optimizer %s wants %u slots, at most %d are possible",
                          run->groups[0].part.name, u->nslots, TUTTI_OPTIMIZER_MAX_SLOTS);
    for (size_t k = 0; k < run->schedules.schedulers.count; k++) {
        const tutti_status s =
            context_open(u->run, &run->schedules.schedulers.items[k], &u->schedulers[k], err);
        if (s)
            return s;
        u->nschedulers = k + 1;
        if (!instance_query(u->schedulers[k], TUTTI_SCHEDULER_V1))
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "scheduler %s has no " TUTTI_SCHEDULER_V1,
                              run->schedules.schedulers.items[k].name);
    }
    return TUTTI_OK;
}

uint32_t updater_group(const void *run, const char *path)
{
    const run_file *r = run;
    uint32_t k = 0;
    while (k + 1 < r->ngroups && fnmatch(r->groups[k].match, path, 0) != 0)
        k++;
    return k;
}

/* Ranks have shards of weights' states, cut anywhere, and of gradients. */
static tutti_status refuse_sharding(const updater *u, tutti_error *err)
{
    if (u->world && updater_is_staged(u))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "an optimizer has no kernel for %s, which \"sharding\" of "
                          "\"distributed\" needs there; want \"sharding\": \"none\"",
                          u->device->info.name);
    for (size_t k = 0; u->world && k < u->ngroups; k++)
        if (u->groups[k].by_weight)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "optimizer %s updates whole weights, which "
                              "\"sharding\": \"%s\" of \"distributed\" cuts among the "
                              "processes; want \"sharding\": \"none\"",
                              object_describe(instance_object(u->groups[k].optimizer))->name,
                              u->run->file->distributed.sharding == SHARDING_STATES ? "states"
                              : u->run->file->distributed.sharding == SHARDING_GRADIENTS
                                  ? "gradients"
                                  : "weights");
    return TUTTI_OK;
}

/* For the weight that asks for most. */
static tutti_status fit_scratch(updater *u, tutti_error *err)
{
    uint64_t most = 0;
    for (size_t k = 0; k < u->layout.nranges; k++) {
        const param_range *r = &u->layout.ranges[k];
        const optimizer_group *g = &u->groups[r->group];
        if (r->weight < 0 || !g->table->scratch)
            continue;
        instance_call c = instance_enter(g->optimizer, "scratch");
        const uint64_t bytes =
            g->table->scratch(instance_self(g->optimizer),
                              &net_weight(u->run->net, (uint32_t)r->weight)->data.desc);
        instance_leave(&c);
        most = bytes > most ? bytes : most;
    }
    device_free(u->device, u->memory.scratch);
    u->memory.scratch = most ? device_alloc(u->device, most) : NULL;
    u->memory.bytes = most;
    return u->memory.scratch || !most
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM,
                            "no memory for %llu bytes of an update of weights",
                            (unsigned long long)most);
}

static void drop_staged(updater *u)
{
    free(u->memory.staged);
    device_free(NULL, u->memory.staged_scratch);
    u->memory.staged = NULL;
    u->memory.staged_scratch = NULL;
}

static void layout_fini(update_layout *l)
{
    free(l->group_of);
    free(l->range_of);
    free(l->ranges);
}

static tutti_status layout_init(update_layout *l, uint32_t weights, tutti_error *err)
{
    *l = (update_layout){.group_of = calloc((size_t)weights + 1, sizeof *l->group_of),
                         .range_of = calloc((size_t)weights + 1, sizeof *l->range_of),
                         .ranges = calloc((size_t)weights + 1, sizeof *l->ranges)};
    return l->group_of && l->range_of && l->ranges
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for optimizer groups");
}

/* Weight `k` goes to the last range or to a new one. */
static void add_weight(updater *u, update_layout *l, uint32_t k)
{
    const int64_t first = net_offset(u->run->net, k);
    const tutti_weight *w = net_weight(u->run->net, k);
    const int32_t group = first < 0 ? -1 : (int32_t)updater_group(u->run->file, w->path);
    param_range *last = l->nranges ? &l->ranges[l->nranges - 1] : NULL;
    const int64_t size = tutti_numel(&w->data.desc);
    const bool whole = u->ngroups && group >= 0 && u->groups[group].by_weight;
    const bool apart = size >= APART && !context_is_remote(u->run);
    l->group_of[k] = group;
    l->range_of[k] = -1;
    if (first < 0)
        return;
    /* Padding between two weights of one group is zero and stays zero under any update. */
    if (last && !whole && !apart && last->count < APART && last->group == (uint32_t)group &&
        first >= last->first + last->count && first < last->first + last->count + MOST_PADDING)
        last->count = first + size - last->first;
    else
        l->ranges[l->nranges++] = (param_range){.updater = u,
                                                .weight = whole ? (int64_t)k : -1,
                                                .first = first,
                                                .count = size,
                                                .group = (uint32_t)group,
                                                .threads = u->run->threads};
    l->range_of[k] = (int32_t)(l->nranges - 1);
}

/* The layout of the net's weights, and their state where it has it; `count` is the arena's. */
static tutti_status lay_out(updater *u, update_layout *l, int64_t count, tutti_error *err)
{
    const bool first = !u->layout.group_of;
    tutti_status s = layout_init(l, net_weight_count(u->run->net), err);
    for (uint32_t k = 0; k < net_weight_count(u->run->net) && !s; k++)
        add_weight(u, l, k);
    if (s || u->world)
        return s ? s : optimizer_shards_move(u, count, first, err);
    if ((s = state_lay_out(u, l, err)) || (s = state_move(u, l, first, err)))
        return s;
    u->count = count;
    return TUTTI_OK;
}

static tutti_status fit_net(updater *u, tutti_error *err)
{
    if (u->layout.group_of && u->version == net_version(u->run->net))
        return TUTTI_OK;
    float *weights, *grads;
    int64_t count;
    update_layout l;
    u->device = context_device(u->run);
    net_arena(u->run->net, &weights, &grads, &count);
    tutti_status s = refuse_sharding(u, err);
    if (s || (s = scalars_open(u->scalars, err)))
        return s;
    s = lay_out(u, &l, count, err);
    if (!s && device_is_async(u->device)) /* updates under way use the ranges */
        s = u->device->table->synchronise(u->device->device, NULL, err);
    if (s) {
        layout_fini(&l);
        return s;
    }
    captures_drop(&u->graphs, u->device);
    drop_staged(u);
    layout_fini(&u->layout);
    u->layout = l;
    if ((u->world && (s = optimizer_shards_cut(u, err))) || (s = fit_scratch(u, err)) ||
        (s = norm_fit(&u->norm, u->run, u->device, updater_is_staged(u), count, err)))
        return s;
    u->version = net_version(u->run->net);
    return TUTTI_OK;
}

/* Freezes what groups say, and new weights of theirs.  Whether there was any. */
static bool freeze_groups(const updater *u)
{
    bool any = false;
    for (uint32_t k = 0; u->ngroups && k < net_weight_count(u->run->net); k++)
        if (u->layout.group_of[k] >= 0 && u->run->file->groups[u->layout.group_of[k]].frozen) {
            net_freeze(u->run->net, k);
            any = true;
        }
    return any;
}

tutti_status updater_refit(updater *u, tutti_error *err)
{
    if (!u->run->net)
        return TUTTI_OK;
    tutti_status s = net_commit(u->run->net, err);
    if (!s)
        s = fit_net(u, err);
    if (s || !freeze_groups(u))
        return s;
    s = net_commit(u->run->net, err); /* again: slots move from commit to commit */
    return s ? s : fit_net(u, err);
}

tutti_status updater_schedule(updater *u, tutti_error *err)
{
    u->run->clock.scheduled = u->run->clock.now;
    for (size_t k = 0; k < u->ngroups; k++)
        u->groups[k].given = false;
    return updater_reschedule(u, err);
}

tutti_status updater_reschedule(updater *u, tutti_error *err)
{
    const tutti_schedule s = {sizeof s,
                              0,
                              &u->run->clock.scheduled,
                              u->run->clock.planned,
                              u->run->clock.batches_per_epoch,
                              u->run->file->length.scale_schedule_ratio};
    double factor = 1.0;
    const bool trains = u->run->clock.planned.count > 0; /* a length of nothing has no course */
    for (size_t k = 0; trains && k < u->nschedulers; k++) {
        const tutti_scheduler_v1 *table = instance_query(u->schedulers[k], TUTTI_SCHEDULER_V1);
        double one = 1.0;
        instance_call c = instance_enter(u->schedulers[k], "multiplier");
        const tutti_status status =
            table->multiplier(instance_self(u->schedulers[k]), &s, &one, err);
        instance_leave(&c);
        if (status)
            return status;
        factor *= one;
    }
    for (size_t k = 0; k < u->ngroups; k++)
        if (!u->groups[k].given)
            u->groups[k].lr = u->groups[k].table->lr * factor;
    return TUTTI_OK;
}

void updater_close(updater *u)
{
    for (size_t k = 0; k < u->ngroups; k++)
        instance_free(u->groups[k].optimizer);
    for (size_t k = 0; k < u->nschedulers; k++)
        instance_free(u->schedulers[k]);
    if (device_is_async(u->device)) /* updates under way use all this */
        (void)u->device->table->synchronise(u->device->device, NULL, NULL);
    captures_drop(&u->graphs, u->device);
    for (uint32_t s = 0; s < TUTTI_OPTIMIZER_MAX_SLOTS; s++)
        device_free(u->device, u->slots[s]);
    device_free(u->device, u->numbers);
    device_free(u->device, u->memory.scratch);
    drop_staged(u);
    norm_fini(&u->norm);
    free(u->groups);
    free(u->schedulers);
    layout_fini(&u->layout);
    memset(u, 0, sizeof *u);
}
