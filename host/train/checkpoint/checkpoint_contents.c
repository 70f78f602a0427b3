/* checkpoint_contents.c - the contents of a checkpoint: named views of where a run's state lives. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/checkpoint_contents.h"

#include "graph/runtime/device_memory.h"
#include "graph/runtime/host_memory.h"
#include "train/checkpoint/resume.h"
#include "train/step/trainer_state.h"
#include "train/update/optimizer_shards.h"
#include "train/update/optimizer_state.h"
#include "tutti/stateful.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a state item's name is made of. */
#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"

static tutti_status contents_add(checkpoint_contents *v, const tutti_tensor *tensor,
                                 tutti_error *err, const char *format, ...) TUTTI_PRINTF(4, 5);

static tutti_status contents_add(checkpoint_contents *v, const tutti_tensor *tensor,
                                 tutti_error *err, const char *format, ...)
{
    if (v->count == v->capacity)
        return tutti_fail(err, TUTTI_E_RANGE, "the checkpoint has more than %zu tensors",
                          v->capacity);
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(v->names[v->count], sizeof v->names[0], format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof v->names[0])
        return tutti_fail(
            err, TUTTI_E_RANGE,
            "%s...: the name is too long for a checkpoint, want at most %zu bytes",
            v->names[v->count], sizeof v->names[0] - 1);
    v->list[v->count].name = v->names[v->count];
    v->list[v->count++].tensor = *tensor;
    return TUTTI_OK;
}

static tutti_tensor flat(void *data, int32_t dtype, int64_t n)
{
    tutti_tensor t = {.data = data, .device = TUTTI_DEVICE_CPU};
    t.desc.rank = 1;
    t.desc.dim[0] = n;
    t.desc.dtype = dtype;
    return t;
}

/* Whether item k of what an object gave can be written and found again. */
static tutti_status check_item(const instance *i, const tutti_state_item *list, uint32_t k,
                               tutti_error *err)
{
    const object_info *o = object_describe(instance_object(i));
    const size_t size = strnlen(list[k].name, sizeof list[k].name);
    tutti_error cause = TUTTI_ERROR_INIT;
    if (size == sizeof list[k].name)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s %s: the name of its state item %u has no end within %zu bytes",
                          o->kind, instance_name(i), k, sizeof list[k].name);
    if (!size || strspn(list[k].name, NAME_BYTES) != size)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s %s: its state item %u is called \"%s\", want letters, digits "
                          "and any of _ . / -",
                          o->kind, instance_name(i), k, list[k].name);
    for (uint32_t m = 0; m < k; m++)
        if (strcmp(list[m].name, list[k].name) == 0)
            return tutti_fail(err, TUTTI_E_EXISTS,
                              "%s %s: two of its state items are called \"%s\"", o->kind,
                              instance_name(i), list[k].name);
    if (tutti_desc_check(&list[k].tensor.desc, 0, &cause))
        return tutti_fail(err, cause.status, "%s %s: its state item %s has %s", o->kind,
                          instance_name(i), list[k].name, cause.text);
    return TUTTI_OK;
}

static tutti_status items_of(instance *i, const tutti_stateful_v1 *table,
                             tutti_state_item *list, uint32_t size, uint32_t *ret_count,
                             tutti_error *err)
{
    instance_call c = instance_enter_whole(i, "items");
    const tutti_status s = table->items(instance_self(i), list, size, ret_count, err);
    instance_leave(&c);
    return s;
}

/* The state of one object: its items' memory is saved from and loaded to in place. */
static tutti_status add_object(trainer *t, checkpoint_contents *v, const state_owner *o,
                               tutti_error *err)
{
    instance *i = o->instance;
    const tutti_stateful_v1 *table = instance_query(i, TUTTI_STATEFUL_V1);
    uint32_t n = 0;
    if (!table)
        return TUTTI_OK;
    t->mirrors.who = instance_name(i);
    tutti_status s = items_of(i, table, NULL, 0, &n, err);
    if (s || n == 0)
        return s;
    tutti_state_item *list = calloc(n, sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the state of %s",
                          instance_name(i));
    uint32_t count = 0;
    s = items_of(i, table, list, n, &count, err);
    if (s == TUTTI_OK && count != n)
        s = tutti_fail(err, TUTTI_E_STATE,
                       "%s %s: had %u state items when asked how many, now %u",
                       object_describe(instance_object(i))->kind, instance_name(i), n, count);
    for (uint32_t k = 0; s == TUTTI_OK && k < n; k++)
        s = check_item(i, list, k, err);
    for (uint32_t k = 0; s == TUTTI_OK && k < n; k++) {
        v->owners[v->count < v->capacity ? v->count : 0] = *o;
        s = contents_add(v, &list[k].tensor, err, "%s.%.64s", o->label, list[k].name);
    }
    free(list);
    return s;
}

static size_t count_objects(trainer *t)
{
    size_t total = 0;
    state_owner o;
    for (size_t k = 0; state_owner_at(t, k, &o); k++) {
        const tutti_stateful_v1 *table = instance_query(o.instance, TUTTI_STATEFUL_V1);
        uint32_t n = 0;
        tutti_error e = TUTTI_ERROR_INIT;
        t->mirrors.who = instance_name(o.instance);
        if (table && items_of(o.instance, table, NULL, 0, &n, &e) == 0)
            total += n;
    }
    t->mirrors.who = NULL;
    return total;
}

/* Slots where they are whole, or memory of the contents' for them, for as much as is this rank's to write. */
static tutti_status collect_slots(trainer *t, const contents_shards *shards,
                                  checkpoint_contents *v, tutti_error *err)
{
    const updater *u = &t->updater;
    const int64_t n = shards ? contents_shards_own(shards) : u->count;
    float *here[TUTTI_OPTIMIZER_MAX_SLOTS] = {NULL};
    tutti_status s = TUTTI_OK;
    for (uint32_t j = 0; u->world && j < u->nslots && !s; j++) {
        v->slots[j] = calloc((size_t)n + 1, sizeof(float));
        if (!v->slots[j])
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld numbers of optimizer state",
                           (long long)n);
        else if (shards)
            s = optimizer_shards_fetch(u, j, &here[j], err);
    }
    if (u->world && shards)
        s = distributed_agree(&t->distributed, s, err);
    for (uint32_t j = 0; u->world && shards && j < u->nslots && !s; j++)
        s = optimizer_shards_collect(u, j, here[j], shards->bounds, v->slots[j], err);
    for (uint32_t j = 0; j < TUTTI_OPTIMIZER_MAX_SLOTS; j++)
        free(here[j]);
    return s;
}

/* Slot `j` of weight `k`, where it is sharded; its data is NULL where another rank writes it. */
static tutti_tensor shard_at(const trainer *t, const checkpoint_contents *v, uint32_t j,
                             uint32_t k, const contents_shards *shards)
{
    tutti_tensor one = net_weight(t->run.net, k)->data;
    const int64_t at = net_offset(t->run.net, k);
    const int32_t rank = shards ? shards->ranks[k] : 0;
    one.device = TUTTI_DEVICE_CPU;
    one.data = !shards                ? v->slots[j] + at
               : rank == shards->mine ? v->slots[j] + (at - shards->bounds[rank])
                                      : NULL;
    return one;
}

/* Weight `k` and its optimizer state. */
static tutti_status add_weight(const trainer *t, const contents_shards *shards,
                               checkpoint_contents *v, uint32_t k, tutti_error *err)
{
    const tutti_weight *w = net_weight(t->run.net, k);
    const int64_t at = net_offset(t->run.net, k);
    const tutti_optimizer_v1 *optimizer =
        at < 0 || !t->updater.ngroups ? NULL
                                      : t->updater.groups[t->updater.layout.group_of[k]].table;
    const uint32_t nslots = optimizer ? optimizer->nslots : 0;
    const int32_t rank = shards ? shards->ranks[k] : 0;
    const size_t first = v->count;
    tutti_status s = contents_add(v, &w->data, err, "model.%s", w->path);
    for (uint32_t j = 0; s == TUTTI_OK && j < nslots; j++) {
        const tutti_tensor one =
            t->updater.world ? shard_at(t, v, j, k, shards) : state_find(&t->updater, k, j);
        if (tutti_numel(&one.desc))
            s = contents_add(v, &one, err, "optimizer.%s.%s", optimizer->slot_names[j],
                             w->path);
    }
    for (size_t i = first; i < v->count; i++)
        v->ranks[i] = rank;
    return s;
}

tutti_status contents_spread(trainer *t, const checkpoint_contents *v, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t j = 0; t->updater.world && j < t->updater.nslots && !s; j++)
        s = optimizer_shards_take(&t->updater, j, v->slots[j], err);
    return s;
}

/* A rate that a plugin has set stays until the schedule sets it. */
static tutti_status add_rates(trainer *t, checkpoint_contents *v, bool all, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < t->updater.ngroups && !s; k++) {
        optimizer_group *g = &t->updater.groups[k];
        const tutti_tensor rate = flat(&g->lr, TUTTI_F64, 1);
        if (all || g->given)
            s = contents_add(v, &rate, err, RATE_PREFIX "%zu", k);
    }
    return s;
}

static tutti_status add_scaler(trainer *t, checkpoint_contents *v, tutti_error *err)
{
    const tutti_tensor scale = scaler_state(&t->scaler), skips = scaler_skips_state(&t->scaler);
    if (!t->scaler.on)
        return TUTTI_OK;
    const tutti_status s = contents_add(v, &scale, err, "run.loss_scale");
    return s ? s : contents_add(v, &skips, err, SKIPS_ITEM);
}

/* What it has of the last batch: the end of an epoch logs it. */
static tutti_status add_metric(checkpoint_contents *v, const metric_set *m, size_t k,
                               tutti_error *err)
{
    if (m->tables[k]->nsums == 0)
        return TUTTI_OK;
    const tutti_tensor sums = flat(m->tables[k]->sums, TUTTI_F64, m->tables[k]->nsums);
    return contents_add(v, &sums, err, METRIC_PREFIX "%zu.%s", k,
                        instance_name(m->instances[k]));
}

/* Everything that a checkpoint keeps, as views of where it lives. */
tutti_status contents_collect(trainer *t, const contents_shards *shards, int64_t *clock,
                              checkpoint_contents *v, tutti_error *err)
{
    const uint32_t n = t->run.net ? net_weight_count(t->run.net) : 0;
    v->capacity = (size_t)n * (1 + TUTTI_OPTIMIZER_MAX_SLOTS) + count_objects(t) + t->nevals +
                  t->train.metrics.count + t->updater.ngroups + 3;
    v->list = calloc(v->capacity, sizeof *v->list);
    v->names = calloc(v->capacity, sizeof *v->names);
    v->owners = calloc(v->capacity, sizeof *v->owners);
    v->ranks = calloc(v->capacity, sizeof *v->ranks);
    if (!v->list || !v->names || !v->owners || !v->ranks)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a checkpoint of %u weights", n);
    tutti_tensor c = flat(clock, TUTTI_I64, CLOCK_SIZE);
    tutti_status s = collect_slots(t, shards, v, err);
    if (s == TUTTI_OK)
        s = contents_add(v, &c, err, "run.clock");
    if (s == TUTTI_OK)
        s = add_scaler(t, v, err);
    if (s == TUTTI_OK)
        s = add_rates(t, v, !shards, err);
    for (size_t k = 0; s == TUTTI_OK && k < t->nevals; k++) {
        c = flat(&t->evals[k].due.last_batch, TUTTI_I64, 1);
        s = contents_add(v, &c, err, "evaluation.%s", t->evals[k].spec->label);
    }
    for (size_t k = 0;
         s == TUTTI_OK && k < t->train.metrics.count && (!shards || t->train.metrics.updated);
         k++)
        s = add_metric(v, &t->train.metrics, k, err);
    for (uint32_t k = 0; s == TUTTI_OK && k < n; k++)
        s = add_weight(t, shards, v, k, err);
    state_owner o;
    for (size_t k = 0; s == TUTTI_OK && state_owner_at(t, k, &o); k++)
        s = add_object(t, v, &o, err);
    t->mirrors.who = NULL;
    return s;
}

/* Item k becomes the n-th; its name stays where it is. */
static void move_item(checkpoint_contents *v, size_t k, size_t n)
{
    v->list[n] = v->list[k];
    v->owners[n] = v->owners[k];
    v->ranks[n] = v->ranks[k];
}

void contents_select(checkpoint_contents *v, bool weights, const char *const *ignore)
{
    static const char model[] = "model.";
    size_t n = 0;
    for (size_t k = 0; k < v->count; k++) {
        const char *name = v->list[k].name;
        bool stays = !weights || strncmp(name, model, sizeof model - 1) == 0;
        for (const char *const *p = ignore; p && *p && stays; p++)
            stays = !run_pattern_matches(*p, name);
        if (stays)
            move_item(v, k, n++);
    }
    v->count = n;
}

void contents_keep(checkpoint_contents *v, int32_t rank)
{
    size_t n = 0;
    for (size_t k = 0; k < v->count; k++)
        if (v->ranks[k] == rank)
            move_item(v, k, n++);
    v->count = n;
}

static bool is_here(const checkpoint_contents *v, size_t k)
{
    return v->list[k].tensor.device == TUTTI_DEVICE_CPU;
}

tutti_status contents_to_host(const trainer *t, checkpoint_contents *v, bool copies,
                              tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    uint64_t bytes = 0, at = 0;
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < v->count; k++)
        if (copies || !is_here(v, k))
            bytes += bytes_round(tutti_nbytes(&v->list[k].tensor.desc));
    if (bytes == 0)
        return TUTTI_OK;
    v->staged = host_memory_alloc(bytes);
    if (!v->staged)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of a checkpoint",
                          (unsigned long long)bytes);
    for (size_t k = 0; k < v->count && !s; k++) {
        tutti_tensor *one = &v->list[k].tensor;
        const uint64_t size = tutti_nbytes(&one->desc);
        if (is_here(v, k) && !copies)
            continue;
        if (is_here(v, k) && size)
            memcpy(v->staged + at, one->data, size);
        else if (!is_here(v, k))
            s = device_copy(d, v->staged + at, one->data, size,
                            TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
        one->data = v->staged + at;
        one->device = TUTTI_DEVICE_CPU;
        at += bytes_round(size);
    }
    if (!context_is_remote(&t->run))
        return s;
    tutti_error ignored = TUTTI_ERROR_INIT; /* copies begun must end before the memory goes */
    const tutti_status ended = d->table->synchronise(d->device, NULL, s ? &ignored : err);
    return s ? s : ended;
}

void contents_fini(checkpoint_contents *v)
{
    for (uint32_t j = 0; j < TUTTI_OPTIMIZER_MAX_SLOTS; j++)
        free(v->slots[j]);
    free(v->staged);
    free(v->list);
    free(v->names);
    free(v->owners);
    free(v->ranks);
    *v = (checkpoint_contents){.list = NULL};
}

void clock_write(const trainer *t, int64_t *clock)
{
    memcpy(clock, &t->run.clock.now.iteration, CLOCK_FIELDS * sizeof *clock);
    memcpy(clock + CLOCK_FIELDS, &t->run.clock.previous.iteration,
           CLOCK_FIELDS * sizeof *clock);
    memcpy(clock + 2 * CLOCK_FIELDS, &t->run.clock.scheduled.iteration,
           CLOCK_FIELDS * sizeof *clock);
    clock[CLOCK_STEP] = t->updater.step;
    clock[CLOCK_HAS_PREVIOUS] = t->run.clock.has_previous |
                                (t->run.clock.stopped ? CLOCK_STOPPED : 0) |
                                (t->resume->left ? CLOCK_LEFT : 0) |
                                (t->resume->iteration_left ? CLOCK_ITERATION_LEFT : 0);
}

void clock_read(trainer *t, const int64_t *clock)
{
    memcpy(&t->run.clock.now.iteration, clock, CLOCK_FIELDS * sizeof *clock);
    memcpy(&t->run.clock.previous.iteration, clock + CLOCK_FIELDS,
           CLOCK_FIELDS * sizeof *clock);
    memcpy(&t->run.clock.scheduled.iteration, clock + 2 * CLOCK_FIELDS,
           CLOCK_FIELDS * sizeof *clock);
    t->run.clock.previous.struct_size = sizeof t->run.clock.previous;
    t->updater.step = clock[CLOCK_STEP];
    t->scalars.settled = false;
    t->run.clock.has_previous = (clock[CLOCK_HAS_PREVIOUS] & 1) != 0;
    t->resume->stopped = (clock[CLOCK_HAS_PREVIOUS] & CLOCK_STOPPED) != 0;
    t->resume->left = (clock[CLOCK_HAS_PREVIOUS] & CLOCK_LEFT) != 0;
    t->resume->iteration_left = (clock[CLOCK_HAS_PREVIOUS] & CLOCK_ITERATION_LEFT) != 0;
}
