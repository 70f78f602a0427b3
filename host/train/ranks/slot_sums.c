/* slot_sums.c - sums over all slots of a batch that their passes wait for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/slot_sums.h"

#include "graph/plan/plan_workspace.h"

#include <stdlib.h>
#include <string.h>

/* What each rank sends with a sum; numbers of its slots follow, room for the most that a rank has. */
typedef struct sum_header {
    uint32_t number; /* of the sum in the batch */
    uint32_t failed; /* this rank makes no more of them */
    uint64_t reserved;
} sum_header;

static tutti_status no_memory(uint64_t bytes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of statistics of slots",
                      (unsigned long long)bytes);
}

void sums_close(slot_sums *s)
{
    free(s->sizes);
    free(s->message);
    free(s->rows);
    *s = (slot_sums){.world = NULL};
}

int64_t sums_most_slots(const slot_sums *s, int64_t slots)
{
    const int64_t size = world_size(s->world);
    return (slots + size - 1) / size;
}

static uint64_t message_bytes(const slot_sums *s, int64_t count)
{
    return sizeof(sum_header) +
           (uint64_t)(sums_most_slots(s, s->slots) * count) * sizeof(double);
}

static tutti_status reserve(slot_sums *s, tutti_error *err)
{
    int64_t most = 0;
    for (uint32_t k = 0; k < s->count; k++)
        most = s->sizes[k] > most ? s->sizes[k] : most;
    const uint64_t bytes = message_bytes(s, most) * (uint64_t)(world_size(s->world) + 1);
    const uint64_t rows = (uint64_t)(s->slots * most);
    if (bytes > s->message_bytes) {
        free(s->message);
        s->message = aligned_alloc(64, (bytes + 63) / 64 * 64);
        s->message_bytes = s->message ? bytes : 0;
    }
    if (rows > s->nrows) {
        free(s->rows);
        s->rows = malloc(rows * sizeof *s->rows);
        s->nrows = s->rows ? rows : 0;
    }
    return s->message_bytes >= bytes && s->nrows >= rows ? TUTTI_OK : no_memory(bytes, err);
}

tutti_status sums_begin(slot_sums *s, int64_t slots, slot_list mine, const plan *p,
                        tutti_error *err)
{
    s->stopped = false;
    s->done = s->count = 0;
    s->slots = slots;
    s->mine = mine;
    if (!s->on)
        return TUTTI_OK;
    const uint32_t count = plan_sums(p, NULL, 0);
    int64_t *sizes = realloc(s->sizes, (count + 1) * sizeof *sizes);
    if (!sizes)
        return no_memory(count * sizeof *sizes, err);
    s->sizes = sizes;
    s->count = plan_sums(p, sizes, count);
    return reserve(s, err);
}

/* ---- one sum ---- */

static slot_list slots_of(const slot_sums *s, int32_t rank)
{
    return slots_in_row(s->slots, world_size(s->world), rank);
}

static sum_header *pack(const slot_sums *s, double *const *numbers, int64_t count, bool failed)
{
    sum_header *header = (sum_header *)(void *)s->message;
    double *to = (double *)(void *)(header + 1);
    memset(header, 0, message_bytes(s, count));
    header->number = s->done;
    header->failed = failed;
    for (int64_t k = 0; k < s->mine.count && numbers; k++)
        memcpy(to + k * count, numbers[k], (size_t)count * sizeof *to);
    return header;
}

/* Numbers of a rank's slots, at these slots' places. */
static tutti_status unpack(slot_sums *s, const sum_header *header, int32_t rank, int64_t count,
                           tutti_error *err)
{
    const slot_list slots = slots_of(s, rank);
    s->stopped = s->stopped || header->failed;
    if (header->number != s->done)
        return tutti_fail(
            err, TUTTI_E_STATE,
            "rank %d makes sum %u of a batch's statistics, not sum %u as this rank", rank,
            header->number, s->done);
    memcpy(s->rows + slots.first * count, header + 1,
           (size_t)(slots.count * count) * sizeof *s->rows);
    return TUTTI_OK;
}

/* All ranks' numbers of sum `s->done`, whose rows are then there. */
static tutti_status gather(slot_sums *s, double *const *numbers, bool failed, tutti_error *err)
{
    const int32_t size = world_size(s->world);
    const int64_t count = s->sizes[s->done];
    const uint64_t bytes = message_bytes(s, count);
    const sum_header *mine = pack(s, numbers, count, failed);
    unsigned char *all = s->message + bytes;
    tutti_status status = TUTTI_OK;
    if (size == 1)
        memcpy(all, mine, bytes);
    else
        status = world_exchange(s->world, mine, all, bytes, err);
    for (int32_t r = 0; r < size && !status; r++)
        status = unpack(s, (const sum_header *)(const void *)(all + (uint64_t)r * bytes), r,
                        count, err);
    s->done++;
    return status;
}

tutti_status sums_add(slot_sums *s, double *const *numbers, int64_t count, tutti_error *err)
{
    if (s->done >= s->count || s->sizes[s->done] != count)
        return tutti_fail(err, TUTTI_E_STATE,
                          "the plan of a microbatch makes other sums of the batch's statistics "
                          "than those of other microbatches");
    const tutti_status status = gather(s, numbers, false, err);
    if (status)
        return status;
    if (s->stopped)
        return tutti_fail(err, TUTTI_E_STATE, "another rank could not go on with the batch");
    slots_add_rows(s->rows, s->slots, count);
    for (int64_t k = 0; k < s->mine.count; k++)
        memcpy(numbers[k], s->rows, (size_t)count * sizeof *s->rows);
    return TUTTI_OK;
}

static tutti_status add_one(void *ctx, double *numbers, int64_t count, tutti_error *err)
{
    return sums_add(ctx, &numbers, count, err);
}

void sums_watch(slot_sums *s, plan *p)
{
    if (s->count > 0)
        plan_watch_sums(p, add_one, s);
}

void sums_unwatch(const slot_sums *s, plan *p)
{
    if (s->count > 0 && p)
        plan_watch_sums(p, NULL, NULL);
}

tutti_status sums_end(slot_sums *s, bool failed, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    while (s->done < s->count && !s->stopped && !status) {
        status = gather(s, NULL, failed, err);
        s->stopped = s->stopped || failed;
    }
    return status;
}
