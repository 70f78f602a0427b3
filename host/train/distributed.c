/* distributed.c - one batch over several ranks: slots, the sum of their gradients, and what ranks agree on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/distributed.h"
#include "train/signals.h"

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
    int32_t saves; /* somebody asks for a checkpoint */
} record;

bool distributed_on(const distributed *d)
{
    return d->world != NULL;
}

bool distributed_first(const distributed *d)
{
    return !d->world || world_rank(d->world) == 0;
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

/* ---- what fits the net ---- */

static bool is_buffer(const tutti_weight *w)
{
    return !(w->flags & TUTTI_WEIGHT_TRAINABLE);
}

static void free_pool(distributed *d)
{
    for (uint32_t k = 0; k < d->npool; k++)
        free(d->pool[k]);
    d->npool = 0;
}

static tutti_status no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of gradients of a slot",
                      (unsigned long long)bytes);
}

/* Of the buffers that are numbers and that plan `p` assigns, `d->buffers` is the list. */
static tutti_status fit(distributed *d, const plan *p, tutti_error *err)
{
    net *n = d->run->net;
    float *weights, *gradients;
    if (d->version == net_version(n) && d->pool)
        return TUTTI_OK;
    free_pool(d);
    const uint32_t count = net_weight_count(n);
    uint32_t *buffers = realloc(d->buffers, (count + 1) * sizeof *buffers);
    float **pool = d->pool ? d->pool : calloc(SLOT_BLOCKS, sizeof *pool);
    d->buffers = buffers ? buffers : d->buffers;
    d->pool = pool;
    net_arena(n, &weights, &gradients, &d->ngradients);
    d->numbers = d->ngradients;
    d->nbuffers = 0;
    d->before_bytes = 0;
    for (uint32_t k = 0; k < count && buffers; k++) {
        const tutti_weight *w = net_weight(n, k);
        if (!is_buffer(w))
            continue;
        d->before_bytes += tutti_nbytes(&w->data.desc);
        if (w->data.desc.dtype != TUTTI_F32 || !plan_assigns(p, k))
            continue;
        d->buffers[d->nbuffers++] = k;
        d->numbers += tutti_numel(&w->data.desc);
    }
    unsigned char *before = realloc(d->before, d->before_bytes + 1);
    d->before = before ? before : d->before;
    if (!buffers || !pool || !before)
        return no_memory(d->before_bytes, err);
    d->version = net_version(n);
    return TUTTI_OK;
}

static void copy_buffers(distributed *d, bool back)
{
    unsigned char *at = d->before;
    for (uint32_t k = 0; k < net_weight_count(d->run->net); k++) {
        const tutti_weight *w = net_weight(d->run->net, k);
        if (!is_buffer(w))
            continue;
        const uint64_t bytes = tutti_nbytes(&w->data.desc);
        memcpy(back ? w->data.data : at, back ? at : w->data.data, bytes);
        at += bytes;
    }
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
    return (d->slots + size - 1) / size;
}

static uint64_t record_bytes(const distributed *d)
{
    return sizeof(record) + (uint64_t)most_slots(d) * d->nvalues * sizeof(double);
}

tutti_status distributed_begin(distributed *d, int64_t slots, const plan *p, tutti_error *err)
{
    const tutti_status s = fit(d, p, err);
    if (s)
        return s;
    d->slots = slots;
    d->mine = slots_of_rank(slots, world_size(d->world), world_rank(d->world));
    d->nblocks = 0;
    d->stack.count = 0;
    d->nvalues = count_values(d);
    double *values = realloc(d->values, record_bytes(d));
    double *all = realloc(d->all_values, (uint64_t)slots * d->nvalues * sizeof *all);
    d->values = values ? values : d->values;
    d->all_values = all ? all : d->all_values;
    if (!values || !all)
        return no_memory(record_bytes(d), err);
    memset(d->values, 0, record_bytes(d));
    copy_buffers(d, false);
    world_tell(d->world, (uint64_t)d->run->clock.now.batch, "computing");
    return TUTTI_OK;
}

void distributed_begin_slot(distributed *d)
{
    copy_buffers(d, true);
    metric_set_reset(d->metrics);
}

static bool is_used(const distributed *d, const float *array)
{
    for (uint32_t k = 0; k < d->nblocks; k++)
        if (d->blocks[k].data == array)
            return true;
    for (uint32_t k = 0; k < d->stack.count; k++)
        if (d->stack.sums[k].data == array)
            return true;
    return false;
}

/* An array that nothing is in; NULL when there is no memory. */
static float *take_array(distributed *d)
{
    for (uint32_t k = 0; k < d->npool; k++)
        if (!is_used(d, d->pool[k]))
            return d->pool[k];
    float *array =
        d->npool < SLOT_BLOCKS
            ? aligned_alloc(64, ((uint64_t)d->numbers * sizeof *array + 63) / 64 * 64 + 64)
            : NULL;
    if (array)
        d->pool[d->npool++] = array;
    return array;
}

static void pack(const distributed *d, double share, float *to)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(d->run->net, &weights, &gradients, &n);
    memcpy(to, gradients, (size_t)n * sizeof *to);
    to += n;
    for (uint32_t k = 0; k < d->nbuffers; k++) {
        const tutti_tensor *t = &net_weight(d->run->net, d->buffers[k])->data;
        for (int64_t i = 0; i < tutti_numel(&t->desc); i++)
            *to++ = (float)share * ((const float *)t->data)[i];
    }
}

static void unpack(const distributed *d, const float *from)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(d->run->net, &weights, &gradients, &n);
    memcpy(gradients, from, (size_t)n * sizeof *from);
    from += n;
    for (uint32_t k = 0; k < d->nbuffers; k++) {
        const tutti_tensor *t = &net_weight(d->run->net, d->buffers[k])->data;
        memcpy(t->data, from, tutti_nbytes(&t->desc));
        from += tutti_numel(&t->desc);
    }
}

/* Blocks of the tree are summed one after the other. */
static void end_block(distributed *d, int64_t slot)
{
    slot_span blocks[SLOT_BLOCKS];
    (void)slots_blocks(d->mine, blocks);
    const slot_span *block = &blocks[d->nblocks];
    if (slot + 1 < block->first + block->count)
        return;
    d->blocks[d->nblocks++] = d->stack.sums[0];
    d->stack.count = 0;
}

tutti_status distributed_end_slot(distributed *d, int64_t slot, double share, double loss,
                                  tutti_error *err)
{
    float *weights, *gradients;
    int64_t n;
    double *values = d->values + sizeof(record) / sizeof(double) +
                     (uint64_t)(slot - d->mine.first) * d->nvalues;
    *values++ = loss;
    for (size_t k = 0; k < d->metrics->count; k++)
        for (uint32_t j = 0; j < d->metrics->tables[k]->nsums; j++)
            *values++ = d->metrics->tables[k]->sums[j];
    net_arena(d->run->net, &weights, &gradients, &n);
    if (d->nbuffers == 0 && slot_stack_takes(&d->stack, slot)) {
        slot_stack_push(&d->stack, (slot_sum){gradients, {slot, 1}}, n, d->run->threads);
    } else {
        float *array = take_array(d);
        if (!array)
            return no_memory((uint64_t)d->numbers * sizeof *array, err);
        pack(d, share, array);
        slot_stack_push(&d->stack, (slot_sum){array, {slot, 1}}, d->numbers, d->run->threads);
    }
    end_block(d, slot);
    return TUTTI_OK;
}

/* ---- the end of a batch ---- */

static uint64_t hash_weights(const distributed *d, uint64_t part, uint64_t parts)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(d->run->net, &weights, &gradients, &n);
    const int64_t first = (int64_t)((uint64_t)n * part / parts);
    const int64_t end = (int64_t)((uint64_t)n * (part + 1) / parts);
    return XXH3_64bits(weights + first, (size_t)(end - first) * sizeof *weights);
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

static tutti_status read_records(distributed *d, const char *all, tutti_error *err)
{
    const int32_t size = world_size(d->world);
    const record *first = record_of(d, all, 0);
    int32_t signal = 0;
    bool saves = false;
    d->lap_ns += first->lap_ns;
    for (int32_t r = 0; r < size; r++) {
        const record *one = record_of(d, all, r);
        const slot_span span = slots_of_rank(d->slots, size, r);
        if (one->weights != first->weights)
            return differ(r, d->run->clock.now.batch, err);
        signal = signal ? signal : one->signal;
        saves = saves || one->saves;
        memcpy(d->all_values + (uint64_t)span.first * d->nvalues, one + 1,
               (uint64_t)span.count * d->nvalues * sizeof(double));
    }
    if (signal)
        trainer_accept_signal(signal);
    if (saves)
        trainer_accept_save();
    return TUTTI_OK;
}

static tutti_status exchange_records(distributed *d, tutti_error *err)
{
    const uint64_t bytes = record_bytes(d);
    const int64_t now = now_ns();
    char *all = malloc((size_t)world_size(d->world) * bytes);
    record *mine = (record *)(void *)d->values;
    if (!all)
        return no_memory(bytes, err);
    *mine = (record){.lap_ns = now - d->began_ns,
                     .weights = hash_weights(
                         d, (uint64_t)d->run->clock.now.batch % HASHED_PARTS, HASHED_PARTS),
                     .signal = trainer_pending_signal(),
                     .saves = trainer_pending_save()};
    d->began_ns = now;
    tutti_status s = world_exchange(d->world, mine, all, bytes, err);
    if (!s)
        s = read_records(d, all, err);
    free(all);
    return s;
}

static double sum_values(distributed *d)
{
    const double *at = d->all_values;
    double loss = 0.0;
    metric_set_reset(d->metrics);
    for (int64_t slot = 0; slot < d->slots; slot++) {
        loss += *at++;
        for (size_t k = 0; k < d->metrics->count; k++)
            for (uint32_t j = 0; j < d->metrics->tables[k]->nsums; j++)
                d->metrics->tables[k]->sums[j] += *at++;
    }
    d->metrics->updated = d->slots > 0;
    return loss;
}

static tutti_status sum_gradients(distributed *d, tutti_error *err)
{
    float *weights, *gradients;
    int64_t n;
    net_arena(d->run->net, &weights, &gradients, &n);
    float *result = d->nbuffers ? take_array(d) : gradients;
    if (!result)
        return no_memory((uint64_t)d->numbers * sizeof *result, err);
    world_tell(d->world, (uint64_t)d->run->clock.now.batch, "summing gradients");
    const tutti_status s =
        world_sum(d->world, d->slots, d->blocks, d->nblocks, d->numbers, result, err);
    if (!s && d->nbuffers)
        unpack(d, result);
    return s;
}

tutti_status distributed_end(distributed *d, tutti_status status, double *ret_loss,
                             tutti_error *err)
{
    tutti_status s = distributed_agree(d, status, err);
    if (s || (s = exchange_records(d, err)))
        return s;
    copy_buffers(d, true); /* what is not summed is as before on all ranks */
    *ret_loss = sum_values(d);
    return sum_gradients(d, err);
}
