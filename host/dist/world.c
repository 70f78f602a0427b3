/* world.c - joining the ranks of a run through an object of kind "comm", and what they agree on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include "base/launcher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BUCKET = 256 * 1024, MOST_BUCKET = 4 * 1024 * 1024 }; /* bytes */

static int32_t service_rank(void *ctx)
{
    return world_rank(ctx);
}

static int32_t service_size(void *ctx)
{
    return world_size(ctx);
}

static tutti_status service_gather(void *ctx, const void *mine, void *all, uint64_t bytes,
                                   tutti_error *err)
{
    return world_exchange(ctx, mine, all, bytes, err);
}

static uint32_t milliseconds(double seconds)
{
    return seconds >= 4e6 ? UINT32_MAX : (uint32_t)ceil(seconds * 1e3);
}

static void forget_machines(world *w)
{
    free(w->machines.first);
    w->machines.first = w->machines.size = NULL;
}

/* A comm may not say where its ranks are. */
static bool any_says(const rank_place *all, int32_t size)
{
    for (int32_t k = 0; k < size; k++)
        if (all[k].size > 0)
            return true;
    return false;
}

/* Asks all ranks where they are, also a rank that finds itself on the only machine: others may see it otherwise. */
static tutti_status find_machines(world *w, tutti_error *err)
{
    const rank_place mine = {w->info.local_rank, w->info.local_size};
    const int32_t size = w->info.size;
    w->machines.count = 1;
    w->place = (world_place){w->info.rank, size, 0, 1};
    if (size == 1)
        return TUTTI_OK;
    rank_place *all = calloc((size_t)size, sizeof *all);
    w->machines.first = calloc(2 * (size_t)size, sizeof *w->machines.first);
    w->machines.size = w->machines.first ? w->machines.first + size : NULL;
    tutti_status s = all && w->machines.first
                         ? world_exchange(w, &mine, all, sizeof mine, err)
                         : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    const bool says = !s && any_says(all, size);
    const bool found = says && machines_find(&w->machines, all, size);
    if (says)
        w->place = machines_place(all, size, w->info.rank, found);
    if (!s && !found)
        forget_machines(w);
    if (says && !found) {
        w->machines.hierarchical = false;
        w->machines.count = 0;
    }
    free(all);
    return s;
}

/* A library that does not understand the launcher takes each process to be a world of its own. */
static tutti_status check_launcher(const world *w, tutti_error *err)
{
    int n = 1;
    const char *launcher = NULL;
    if (w->info.size > 1 || launcher_processes(&n, &launcher, NULL) || n <= 1)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_STATE,
        "comm %s: this process is alone in its world, but %s has started %d; want "
        "the launcher of the library that the comm was built with, or "
        "TUTTI_WORLD_SIZE=1 where each is a run of its own",
        instance_name(w->options.comm), launcher, n);
}

static int32_t join_stopped(void *ctx)
{
    const world_options *o = ctx;
    return o->stopped && o->stopped() != 0;
}

tutti_status world_join(const world_options *options, world **ret_world, tutti_error *err)
{
    const tutti_collectives_v1 *table = instance_query(options->comm, TUTTI_COLLECTIVES_V1);
    if (!table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "comm %s has no " TUTTI_COLLECTIVES_V1,
                          instance_name(options->comm));
    world *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    w->options = *options;
    w->bucket_bytes = options->bucket ? options->bucket : MOST_BUCKET;
    w->table = table;
    w->self = instance_self(options->comm);
    w->info.struct_size = sizeof w->info;
    w->service = (tutti_world_v1){.struct_size = sizeof w->service,
                                  .ctx = w,
                                  .rank = service_rank,
                                  .size = service_size,
                                  .gather = service_gather};
    const tutti_join how = {.struct_size = sizeof how,
                            .timeout_ms = milliseconds(options->join_s),
                            .run = options->run,
                            .stopped = join_stopped,
                            .ctx = &w->options};
    instance_call c = instance_enter(options->comm, "join");
    tutti_status s = table->join(w->self, &how, &w->info, err);
    instance_leave(&c);
    if (!s && (w->info.size < 1 || w->info.rank < 0 || w->info.rank >= w->info.size))
        s = tutti_fail(err, TUTTI_E_FORMAT, "comm %s: rank %d of %d makes no sense",
                       instance_name(options->comm), w->info.rank, w->info.size);
    if (s) {
        free(w);
        return s;
    }
    table->set_timeout(w->self, milliseconds(options->timeout_s));
    background_init(&w->background);
    const tutti_status alone = check_launcher(w, err);
    if (alone || (s = find_machines(w, err))) {
        world_leave(w, !alone); /* nobody is there to be ended */
        return alone ? alone : s;
    }
    *ret_world = w;
    return TUTTI_OK;
}

void world_rest(world *w)
{
    if (w && background_stop(&w->background))
        atomic_store(&w->broken, true);
}

void world_leave(world *w, bool failed)
{
    if (!w)
        return;
    background_fini(&w->background);
    if (failed || atomic_load(&w->broken)) /* a comm may have its launcher end all */
        launcher_be_heard();
    instance_call c = instance_enter(w->options.comm, "leave");
    w->table->leave(w->self, failed && !w->agreed);
    instance_leave(&c);
    forget_machines(w);
    pipeline_fini(&w->pipeline);
    bucket_fini(&w->alone);
    free(w);
}

int32_t world_rank(const world *w)
{
    return w->info.rank;
}

int32_t world_size(const world *w)
{
    return w->info.size;
}

int32_t world_local_rank(const world *w)
{
    return w->info.local_rank;
}

int32_t world_machine_count(const world *w)
{
    return w->machines.count;
}

const world_place *world_where(const world *w)
{
    return &w->place;
}

const char *world_comm(const world *w)
{
    return object_describe(instance_object(w->options.comm))->name;
}

uint64_t world_bucket_bytes(int64_t numbers)
{
    const uint64_t quarter = (uint64_t)(numbers + 3) / 4 * sizeof(float);
    return quarter < LEAST_BUCKET  ? LEAST_BUCKET
           : quarter > MOST_BUCKET ? MOST_BUCKET
                                   : quarter;
}

void world_fit_bucket(world *w, int64_t numbers)
{
    if (w && w->options.bucket == 0)
        w->bucket_bytes = world_bucket_bytes(numbers);
}

int64_t world_bucket(const world *w)
{
    const uint64_t numbers = w->bucket_bytes / sizeof(float);
    const uint64_t unit = numbers < PAGE_NUMBERS ? SHARD_UNIT : PAGE_NUMBERS;
    return (int64_t)((numbers + unit - 1) / unit * unit) + (numbers == 0) * SHARD_UNIT;
}

const tutti_world_v1 *world_service(const world *w)
{
    return &w->service;
}

void world_extend(world *w, double seconds)
{
    const double limit = w->options.timeout_s;
    if (limit <= 0.0)
        return;
    background_drain(&w->background);
    w->table->set_timeout(w->self, milliseconds(limit + seconds));
}

void world_hurry(world *w)
{
    const double most = 10.0, limit = w->options.timeout_s;
    w->table->set_timeout(w->self, milliseconds(limit > 0.0 && limit < most ? limit : most));
}

void world_drain(world *w)
{
    background_drain(&w->background);
}

world_counts world_counted(const world *w)
{
    const world_counts *c = &w->counts;
    return (world_counts){.blocking = WORLD_COUNTED(c->blocking),
                          .sums = WORLD_COUNTED(c->sums),
                          .gathers = WORLD_COUNTED(c->gathers),
                          .records = WORLD_COUNTED(c->records),
                          .overlapped = WORLD_COUNTED(c->overlapped),
                          .bytes = WORLD_COUNTED(c->bytes),
                          .far = WORLD_COUNTED(c->far)};
}

/* What goes on beside the caller may have failed before it came. */
static tutti_status has_failed(world *w, tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status s = background_finish(&w->background, &why);
    return s ? tutti_fail(err, s, "%s", why.text)
             : tutti_fail(err, TUTTI_E_STATE, "what ranks exchange has failed before");
}

tutti_status world_exchange(world *w, const void *mine, void *all, uint64_t bytes,
                            tutti_error *err)
{
    background_drain(&w->background);
    if (atomic_load(&w->broken))
        return has_failed(w, err);
    WORLD_COUNT(w->counts.blocking, 1);
    return world_tell_all(w, mine, all, bytes, err);
}

/* ---- agreeing ---- */

tutti_status world_agree(world *w, tutti_status status, tutti_error *err)
{
    tutti_error mine = TUTTI_ERROR_INIT, unheard = TUTTI_ERROR_INIT;
    tutti_error *all = calloc((size_t)w->info.size, sizeof *all);
    if (!all) /* the others find this rank gone */
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    background_drain(&w->background);
    if (status && atomic_load(&w->broken)) { /* and so here */
        free(all);
        return status;
    }
    if (status) {
        mine.status = status;
        (void)snprintf(mine.text, sizeof mine.text, "%s", err ? err->text : "");
    }
    tutti_status s = world_exchange(w, &mine, all, sizeof mine, status ? &unheard : err);
    for (int32_t k = 0; k < w->info.size && !s; k++) {
        if (!all[k].status)
            continue;
        s = all[k].status;
        w->agreed = true;
        if (err)
            *err = (tutti_error)TUTTI_ERROR_INIT;
        all[k].text[sizeof all[k].text - 1] = '\0';
        (void)(k ? tutti_fail(err, s, "[rank %d] %.480s", k, all[k].text)
                 : tutti_fail(err, s, "%s", all[k].text));
    }
    free(all);
    return status ? (s ? s : status) : s;
}

bool world_has_agreed(const world *w)
{
    return w && w->agreed;
}

void world_forget_failure(world *w)
{
    if (w)
        w->agreed = false;
}

enum { ITEM_BYTES = 480 };

/* Item `item` of rank 0 against that of all, in ITEM_BYTES each. */
static tutti_status compare_one(world *w, const world_item *item, char *all, tutti_error *err)
{
    char mine[ITEM_BYTES];
    memset(mine, 0, sizeof mine);
    (void)snprintf(mine, sizeof mine, "%s", item->value);
    const tutti_status s = world_exchange(w, mine, all, sizeof mine, err);
    for (int32_t k = 1; k < w->info.size && !s; k++)
        if (memcmp(all, all + (size_t)k * ITEM_BYTES, ITEM_BYTES) != 0) {
            w->agreed = true;
            return tutti_fail(err, TUTTI_E_ARG,
                              "rank %d has another %s than rank 0: %.200s, not %.200s", k,
                              item->name, all + (size_t)k * ITEM_BYTES, all);
        }
    return s;
}

tutti_status world_compare(world *w, const world_item *items, size_t n, tutti_error *err)
{
    char *all = malloc((size_t)w->info.size * ITEM_BYTES);
    tutti_status s =
        all ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    for (size_t k = 0; k < n && !s; k++)
        s = compare_one(w, &items[k], all, err);
    free(all);
    return s;
}

tutti_status world_broadcast(world *w, void *data, uint64_t bytes, int32_t root,
                             tutti_error *err)
{
    background_drain(&w->background);
    if (atomic_load(&w->broken))
        return has_failed(w, err);
    WORLD_COUNT(w->counts.blocking, 1);
    world_count_told(w, w->info.rank == root ? bytes : 0);
    instance_call c = instance_enter(w->options.comm, "broadcast");
    const tutti_status s = w->table->broadcast(w->self, data, bytes, root, err);
    instance_leave(&c);
    return world_note(w, s);
}

tutti_status world_spread(world *w, const char *text, char **ret_text, tutti_error *err)
{
    uint64_t bytes = w->info.rank == 0 ? strlen(text) + 1 : 0;
    tutti_status s = world_broadcast(w, &bytes, sizeof bytes, 0, err);
    if (s)
        return s;
    char *copy = malloc(bytes);
    if (!copy)
        return world_note(w,
                          tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of rank 0",
                                     (unsigned long long)bytes));
    if (w->info.rank == 0)
        memcpy(copy, text, bytes);
    if ((s = world_broadcast(w, copy, bytes, 0, err)))
        free(copy);
    else
        *ret_text = copy;
    return s;
}
