/* distributed.c - data parallel training: one batch over several ranks: slots, the sum of their gradients, and what ranks agree on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/distributed.h"

#include "base/monotonic.h"
#include "graph/runtime/device_memory.h"
#include "train/context/signals.h"
#include "tutti/penalty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* Each step compares the weights of all ranks, a part at a time. */
enum { HASHED_PARTS = 64 };

/* What each rank tells all others at the end of a batch; values of its slots follow. */
typedef struct record {
    int64_t lap_ns;
    uint64_t weights; /* hash of a part of them, before the update */
    int32_t signal;
    int32_t saves;   /* somebody asks for a checkpoint */
    int32_t failed;  /* this rank's batch; why follows */
    int32_t reads;   /* somebody may read gradients */
    int32_t written; /* its shard of a checkpoint */
    int32_t reserved;
} record;

enum { TOLD_NOTHING, TOLD_SHARDED, TOLD_WHOLE };

bool distributed_on(const distributed *d)
{
    return d->world != NULL;
}

bool distributed_shards_gradients(const distributed *d)
{
    return d->gradients.shards.on && d->run->file->distributed.sharding >= SHARDING_GRADIENTS;
}

/* A plugin that adds a pass to the gradients; NULL: none. */
static const char *find_penalty(const participants *p)
{
    for (size_t k = 0; k < p->count; k++)
        if (instance_query(p->items[k], TUTTI_PENALTY_V1))
            return instance_name(p->items[k]);
    return NULL;
}

bool distributed_gathers_late(const distributed *d, char *text, size_t size)
{
    int32_t half;
    const char *penalty = find_penalty(&d->run->participants);
    const char *who = "", *why = NULL;
    if (d->run->file->distributed.batch_norm == BATCH_NORM_WORLD)
        why = "batch_norm is world";
    else if (context_is_remote(d->run))
        why = "they are on a GPU";
    else if (d->run->net && net_half_weights(d->run->net, &half))
        why = "products read copies of 16 bits";
    else if (d->weight_readers.who)
        who = d->weight_readers.who, why = " may read them";
    else if (penalty)
        who = penalty, why = " adds to the gradients";
    if (why)
        (void)snprintf(text, size, "%s%s", who, why);
    return why != NULL;
}

bool distributed_first(const distributed *d)
{
    return !d->world || world_rank(d->world) == 0;
}

int distributed_signal(const distributed *d)
{
    const int own = trainer_pending_signal();
    if (trainer_signal() || !d->batches.evaluation)
        return trainer_signal();
    return own ? own : atomic_load(&d->batches.stopped);
}

/* A failure that rank 0 knows as well is rank 0's to tell. */
static tutti_status note(distributed *d, tutti_status status)
{
    d->run->file->distributed.told = world_has_agreed(d->world);
    return status;
}

tutti_status distributed_agree(distributed *d, tutti_status status, tutti_error *err)
{
    return d->world ? note(d, world_agree(d->world, status, err)) : status;
}

tutti_status distributed_equal(distributed *d, const world_item *items, size_t n,
                               tutti_error *err)
{
    return note(d, world_compare(d->world, items, n, err));
}

tutti_status distributed_take_first(distributed *d, int32_t *value, tutti_error *err)
{
    const unsigned char mine = (unsigned char)*value;
    unsigned char *all = d->world ? calloc((size_t)world_size(d->world), 1) : NULL;
    if (!all)
        return d->world ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the ranks") : TUTTI_OK;
    const tutti_status s = world_exchange(d->world, &mine, all, sizeof mine, err);
    if (!s)
        *value = all[0];
    free(all);
    return s;
}

static tutti_status no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of numbers of slots",
                      (unsigned long long)bytes);
}

/* ---- slots ---- */

static uint32_t count_values(const distributed *d)
{
    uint32_t n = 1;
    for (size_t k = 0; k < d->metrics->count; k++)
        n += d->metrics->tables[k]->nsums;
    return n;
}

/* The most slots of a rank. */
static int64_t most_slots(const distributed *d)
{
    const int64_t size = world_size(d->world);
    return (d->gradients.slots + size - 1) / size;
}

static uint64_t record_bytes(const distributed *d)
{
    return sizeof(record) + (uint64_t)most_slots(d) * d->nvalues * sizeof(double);
}

/* Who reads, of one rank. */
enum { READS_GRADIENTS = 1, READS_WEIGHTS = 2 };

static int32_t readers(const distributed *d)
{
    return (d->reads ? READS_GRADIENTS : 0) | (d->weight_readers.who ? READS_WEIGHTS : 0);
}

static void note_readers(distributed *d, int32_t of_a_rank)
{
    d->gathers = d->gathers || of_a_rank & READS_GRADIENTS;
    d->weight_readers.anywhere = d->weight_readers.anywhere || of_a_rank & READS_WEIGHTS;
}

/* Where nobody on any rank looks at gradients each rank needs the sums that it updates its weights by. */
static tutti_status agree_on_readers(distributed *d, tutti_error *err)
{
    const int32_t size = world_size(d->world);
    unsigned char mine = (unsigned char)readers(d), *all = calloc((size_t)size, 1);
    const tutti_status s =
        all ? world_exchange(d->world, &mine, all, 1, err) : no_memory((uint64_t)size, err);
    for (int32_t r = 0; r < size && !s; r++)
        note_readers(d, all[r]);
    free(all);
    return s;
}

tutti_status distributed_begin(distributed *d, int64_t slots, const plan *p, const plan *last,
                               tutti_error *err)
{
    if (d->gradients.rules.buffers_only && !d->device.device)
        return tutti_fail(err, TUTTI_E_STATE,
                          "distributed: the ranks' devices were given up when a batch failed");
    d->gradients.slots = slots;
    d->nvalues = count_values(d);
    double *values = realloc(d->values, record_bytes(d));
    double *all = realloc(d->all_values, (uint64_t)slots * d->nvalues * sizeof *all);
    d->values = values ? values : d->values;
    d->all_values = all ? all : d->all_values;
    if (!values || !all)
        return no_memory(record_bytes(d), err);
    memset(d->values, 0, record_bytes(d));
    const bool is_new = !gradients_fit(&d->gradients);
    tutti_status s = gradients_begin(&d->gradients, slots, p, last, err);
    if (!s && d->device.device)
        s = device_gradients_begin(&d->device, slots, d->gradients.mine, p, err);
    if (!s && is_new)
        s = agree_on_readers(d, err);
    if (!s)
        s = sums_begin(&d->sums, slots, d->gradients.mine, p, err);
    d->begun = !s;
    if (s)
        return note(d, s);
    d->gradients.rules.shard_only =
        d->run->file->distributed.sharding != SHARDING_NONE && !d->gathers;
    d->device.shard_only = d->gradients.rules.shard_only;
    d->gradients.shards.gives_back =
        distributed_shards_gradients(d) && d->gradients.rules.shard_only;
    weight_shards *w = &d->gradients.weights;
    int32_t dtype;
    w->on = (w->keeps || (w->wanted && d->gradients.shards.gives_back)) &&
            !d->weight_readers.anywhere && plan_uses_weights_here(p) &&
            !net_half_weights(d->run->net, &dtype);
    if (!w->on && (s = weights_gather_all(w, err)))
        return note(d, s);
    weights_begin_batch(w);
    world_tell(d->world, (uint64_t)d->run->clock.now.batch, "computing");
    return TUTTI_OK;
}

tutti_status distributed_begin_slot(distributed *d, tutti_error *err)
{
    metric_set_reset(d->metrics);
    const tutti_status s = gradients_begin_slot(&d->gradients, err);
    if (s || !d->gradients.rules.buffers_only)
        return s ? device_gradients_blame(&d->device, s, err) : TUTTI_OK;
    return device_gradients_check(&d->device, err);
}

bool distributed_overlap(distributed *d, int64_t slot, plan *p)
{
    if (d->device.device)
        return device_gradients_watch(&d->device, slot, p);
    if (gradients_starts(&d->gradients, slot))
        gradients_watch(&d->gradients, p);
    return false;
}

tutti_status distributed_end_slot(distributed *d, int64_t slot, double share, double loss,
                                  tutti_error *err)
{
    double *values =
        d->values + sizeof(record) / sizeof(double) +
        (uint64_t)((slot - d->gradients.mine.first) / d->gradients.mine.step) * d->nvalues;
    *values++ = loss;
    for (size_t k = 0; k < d->metrics->count; k++)
        for (uint32_t j = 0; j < d->metrics->tables[k]->nsums; j++)
            *values++ = d->metrics->tables[k]->sums[j];
    const tutti_status s =
        d->device.device ? device_gradients_end_slot(&d->device, slot, err) : TUTTI_OK;
    return s ? s : gradients_end_slot(&d->gradients, slot, share, err);
}

/* ---- the end of a batch ---- */

tutti_status distributed_hash(const run_context *run, const float *numbers, int64_t n,
                              uint64_t *ret_hash, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)n * sizeof *numbers;
    if (!context_is_remote(run)) {
        *ret_hash = XXH3_64bits(numbers, bytes);
        return TUTTI_OK;
    }
    void *here = malloc(bytes + 1);
    const tutti_status s = here ? device_copy(context_device(run), here, numbers, bytes,
                                              TUTTI_COPY_FROM_DEVICE, err)
                                : no_memory(bytes, err);
    if (!s)
        *ret_hash = XXH3_64bits(here, bytes);
    free(here);
    return s;
}

/* Of a part of the weights; 0 where they are sharded. */
static tutti_status hash_weights(distributed *d, uint64_t part, uint64_t *ret_hash,
                                 tutti_error *err)
{
    float *weights, *gradients;
    int64_t n;
    *ret_hash = 0;
    if (d->gradients.weights.on && !d->gradients.weights.keeps)
        return TUTTI_OK;
    weights_wait(&d->gradients.weights);
    net_arena(d->run->net, &weights, &gradients, &n);
    const int64_t first = (int64_t)((uint64_t)n * part / HASHED_PARTS);
    const int64_t end = (int64_t)((uint64_t)n * (part + 1) / HASHED_PARTS);
    return distributed_hash(d->run, weights + first, end - first, ret_hash, err);
}

static tutti_status differ(int32_t rank, int64_t batch, tutti_error *err)
{
    return tutti_fail(
        err, TUTTI_E_STATE,
        "rank %d has other weights than rank 0 after batch %lld: a memory error, or a plugin "
        "that does not do the same on every rank",
        rank, (long long)batch);
}

static const record *record_of(const distributed *d, const char *all, int32_t rank)
{
    return (const record *)(const void *)(all + (uint64_t)rank * record_bytes(d));
}

/* Losses and metrics' sums of a rank's slots, at these slots' places. */
static void take_values(distributed *d, int32_t rank, const record *one)
{
    const slot_list slots = gradients_slots(&d->gradients, d->gradients.slots, rank);
    const double *from = (const double *)(const void *)(one + 1);
    for (int64_t k = 0; k < slots.count; k++, from += d->nvalues)
        memcpy(d->all_values + (uint64_t)(slots.first + k * slots.step) * d->nvalues, from,
               d->nvalues * sizeof *from);
}

static tutti_status read_records(distributed *d, const char *all, bool *ret_failed,
                                 tutti_error *err)
{
    const int32_t size = world_size(d->world);
    const record *first = record_of(d, all, 0);
    int32_t signal = 0;
    bool saves = false;
    d->all_written = true;
    d->lap_ns += first->lap_ns;
    for (int32_t r = 0; r < size; r++) {
        const record *one = record_of(d, all, r);
        if (one->weights != first->weights)
            return differ(r, d->run->clock.now.batch, err);
        *ret_failed = *ret_failed || one->failed;
        note_readers(d, one->reads);
        signal = signal ? signal : one->signal;
        saves = saves || one->saves;
        d->all_written = d->all_written && one->written;
        take_values(d, r, one);
    }
    if (signal)
        trainer_accept_signal(signal);
    if (saves)
        trainer_accept_save();
    return TUTTI_OK;
}

/* This rank's record goes to all behind the sums that have begun: one wait is for both. */
static tutti_status start_record(distributed *d, bool failed, char *all, tutti_error *err)
{
    uint64_t hash;
    const tutti_status s =
        hash_weights(d, (uint64_t)d->run->clock.now.batch % HASHED_PARTS, &hash, err);
    if (s)
        return s;
    const int64_t now = monotonic_ns();
    record *mine = (record *)(void *)d->values;
    *mine = (record){.lap_ns = now - d->began_ns,
                     .weights = hash,
                     .signal = trainer_pending_signal(),
                     .saves = trainer_pending_save(),
                     .failed = failed,
                     .reads = readers(d),
                     .written = d->written};
    d->began_ns = now;
    return world_start_exchange(d->world, mine, all, record_bytes(d), err);
}

/* All sums and records are there.  A rank that could not begin its sums ends, and the others find it gone. */
static tutti_status settle(distributed *d, bool failed, bool *ret_failed, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)world_size(d->world) * record_bytes(d);
    tutti_error unheard = TUTTI_ERROR_INIT;
    char *all = calloc(1, bytes);
    tutti_status s = all ? sums_end(&d->sums, failed, err) : no_memory(bytes, err);
    if (!s)
        s = gradients_begin_all(&d->gradients, failed || d->sums.stopped, err);
    if (!s && !failed && d->device.device)
        device_gradients_begin_rest(&d->device);
    if (!s && !d->gradients.error.status)
        s = start_record(d, failed || device_gradients_failed(&d->device), all, err);
    const tutti_status end = gradients_end(&d->gradients, s ? &unheard : err);
    s = s ? s : end;
    if (!s)
        weights_settle(&d->gradients.weights);
    if (!s)
        s = read_records(d, all, ret_failed, err);
    free(all);
    if (!s && !*ret_failed && d->device.device)
        s = device_gradients_sum(&d->device, err);
    else if (d->device.device) /* on every rank, whatever it has begun */
        device_gradients_give_up(&d->device);
    return s;
}

/* Once, and again where that changes: how much of the gradients a rank keeps. */
static void tell_gradients(distributed *d)
{
    char text[200];
    uint64_t whole;
    const int32_t now = d->gradients.shards.gives_back ? TOLD_SHARDED : TOLD_WHOLE;
    if (!distributed_shards_gradients(d) || !distributed_first(d) || d->told == now)
        return;
    d->told = now;
    const uint64_t here = gradients_resident(&d->gradients, &whole);
    if (now == TOLD_SHARDED)
        (void)snprintf(text, sizeof text, "%llu of %llu bytes of gradients are on this rank",
                       (unsigned long long)here, (unsigned long long)whole);
    else
        (void)snprintf(text, sizeof text,
                       "%.60s may read gradients, so every rank keeps all of them, as without "
                       "\"sharding\": \"%s\"",
                       d->reader ? d->reader : "a plugin of another rank",
                       d->gradients.weights.wanted ? "weights" : "gradients");
    run_log_message(&d->run->log, now == TOLD_SHARDED ? TUTTI_LOG_INFO : TUTTI_LOG_WARNING,
                    "distributed", text);
}

void distributed_reads(distributed *d, const char *who)
{
    d->reads = d->reads || who;
    d->reader = d->reader ? d->reader : who;
}

void distributed_reads_weights(distributed *d, const char *who, bool alone)
{
    weight_readers *r = &d->weight_readers;
    r->who = r->who ? r->who : who;
    r->alone = r->alone || alone;
    if (d->run->file->distributed.sharding == SHARDING_WEIGHTS)
        distributed_reads(d, who);
}

bool distributed_is_alone(const distributed *d)
{
    return d->gradients.weights.sharded &&
           (d->weight_readers.alone || d->run->stage.event == TUTTI_EVENT_EXCEPTION_RAISED);
}

static double sum_values(distributed *d)
{
    const double *at = d->all_values;
    double loss = 0.0;
    metric_set_reset(d->metrics);
    for (int64_t slot = 0; slot < d->gradients.slots; slot++) {
        loss += *at++;
        for (size_t k = 0; k < d->metrics->count; k++)
            for (uint32_t j = 0; j < d->metrics->tables[k]->nsums; j++)
                d->metrics->tables[k]->sums[j] += *at++;
    }
    d->metrics->updated = d->gradients.slots > 0;
    return loss;
}

/* Each rank whose device has failed says so: which of them was the first one is not known. */
static tutti_status tell_device(distributed *d, tutti_error *err)
{
    tutti_error heard = d->device.error;
    const tutti_status s = distributed_agree(d, heard.status, &heard);
    d->run->file->distributed.told = false;
    return tutti_fail(err, s, "%s", d->device.error.text);
}

tutti_status distributed_end(distributed *d, tutti_status status, double *ret_loss,
                             tutti_error *err)
{
    tutti_error unheard = TUTTI_ERROR_INIT;
    tutti_error *other =
        status ? &unheard : err; /* a failure of this rank's own is told first */
    bool failed = false;
    if (!d->begun) /* the others find this rank gone */
        return status;
    d->begun = false;
    if ((d->sums.stopped || d->device.stopped) &&
        status) { /* that is the other's failure, who tells it */
        status = TUTTI_OK;
        other = err;
        *err = (tutti_error)TUTTI_ERROR_INIT;
    }
    const tutti_status s = settle(d, status != TUTTI_OK, &failed, other);
    if (s)
        return status ? status : device_gradients_blame(&d->device, s, err);
    if (failed && d->device.error.status)
        return tell_device(d, err);
    if (failed)
        return distributed_agree(d, status, err);
    world_tell(d->world, (uint64_t)d->run->clock.now.batch, "updating weights");
    gradients_take_buffers(&d->gradients);
    if (d->gradients.error.status) /* of a device */
        return tutti_fail(err, d->gradients.error.status, "%s", d->gradients.error.text);
    tell_gradients(d);
    *ret_loss = sum_values(d);
    return TUTTI_OK;
}

void distributed_begin_step(distributed *d)
{
    if (d->world)
        d->counts = world_counted(d->world);
}

void distributed_end_step(distributed *d)
{
    if (!d->world)
        return;
    const world_counts now = world_counted(d->world);
    d->last_step = (world_counts){.blocking = now.blocking - d->counts.blocking,
                                  .sums = now.sums - d->counts.sums,
                                  .overlapped = now.overlapped - d->counts.overlapped,
                                  .gathers = now.gathers - d->counts.gathers,
                                  .records = now.records - d->counts.records,
                                  .bytes = now.bytes - d->counts.bytes,
                                  .far = now.far - d->counts.far};
}
