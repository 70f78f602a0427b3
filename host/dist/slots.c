/* slots.c - slots of ranks, blocks of the summation tree, and its sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/slots.h"

#include "tutti/half.h"

#include <stddef.h>
#include <string.h>

/* slots * rank / size, rounded up: slots * size may be no int64_t. */
static int64_t first_slot(int64_t slots, int32_t size, int32_t rank)
{
    const int64_t each = slots / size, more = slots % size;
    return each * rank + (more * rank + size - 1) / size;
}

slot_span slots_of_rank(int64_t slots, int32_t size, int32_t rank)
{
    const int64_t first = first_slot(slots, size, rank);
    return (slot_span){first, first_slot(slots, size, rank + 1) - first};
}

slot_list slots_in_row(int64_t slots, int32_t size, int32_t rank)
{
    const slot_span span = slots_of_rank(slots, size, rank);
    return (slot_list){span.first, span.count, 1};
}

slot_list slots_in_turn(int64_t slots, int32_t size, int32_t rank)
{
    return (slot_list){rank, rank < slots ? (slots - rank + size - 1) / size : 0, size};
}

int64_t slots_rounds(int64_t slots, int32_t size)
{
    return (slots + size - 1) / size;
}

uint32_t slots_waiting(int64_t slots, int32_t size)
{
    slot_span blocks[SLOT_BLOCKS];
    uint32_t most = 0;
    for (int64_t done = size; done < slots; done += size) {
        const uint32_t n = slots_blocks((slot_span){0, done}, blocks);
        most = n > most ? n : most;
    }
    return most;
}

uint32_t slots_blocks(slot_span span, slot_span blocks[SLOT_BLOCKS])
{
    uint32_t n = 0;
    while (span.count > 0) {
        int64_t size = 1;
        while (size * 2 <= span.count && span.first % (size * 2) == 0)
            size *= 2;
        blocks[n++] = (slot_span){span.first, size};
        span = (slot_span){span.first + size, span.count - size};
    }
    return n;
}

static float round_one(float x)
{
    const uint32_t bits = (uint32_t)tutti_to_bf16(x) << 16;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void slots_round(float *numbers, int64_t n, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        numbers[i] = round_one(numbers[i]);
}

/* The first `rounded` of the sums are. */
static void add(float *to, const float *left, const float *right, int64_t n, int64_t rounded,
                int threads)
{
    if (rounded > n)
        rounded = n;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = 0; i < rounded; i++)
        to[i] = round_one(left[i] + right[i]);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t i = rounded; i < n; i++)
        to[i] = left[i] + right[i];
}

static void join_last(slot_stack *s, int64_t n, int threads)
{
    slot_sum *left = &s->sums[s->count - 2];
    add(left->data, left->data, left[1].data, n, s->rounded, threads);
    left->span.count += left[1].span.count;
    s->count--;
}

bool slot_stack_holds(const slot_stack *s, const slot_sum *blocks, uint32_t nblocks,
                      const float *data)
{
    for (uint32_t k = 0; k < nblocks; k++)
        if (blocks[k].data == data)
            return true;
    for (uint32_t k = 0; k < s->count; k++)
        if (s->sums[k].data == data)
            return true;
    return false;
}

void slot_stack_push(slot_stack *s, slot_sum sum, int64_t n, int threads)
{
    s->sums[s->count++] = sum;
    while (s->count > 1 && s->sums[s->count - 2].span.count == s->sums[s->count - 1].span.count)
        join_last(s, n, threads);
}

void slot_stack_add_part(const slot_stack *s, const float *part, int64_t at, int64_t n,
                         int threads)
{
    const int64_t rounded = s->rounded > at ? s->rounded - at : 0;
    for (uint32_t k = s->count; k > 0; k--) {
        float *sum = s->sums[k - 1].data + at;
        add(sum, sum, part, n, rounded, threads);
        part = sum;
    }
}

int slot_stack_takes(const slot_stack *s, int64_t slot)
{
    const slot_span *last = s->count ? &s->sums[s->count - 1].span : NULL;
    return last && last->count == 1 && last->first + 1 == slot && last->first % 2 == 0;
}

void slots_add_rows(double *rows, int64_t slots, int64_t n)
{
    for (int64_t size = 1; size < slots; size *= 2)
        for (int64_t first = 0; first + size < slots; first += 2 * size)
            for (int64_t i = 0; i < n; i++)
                rows[first * n + i] += rows[(first + size) * n + i];
}

void slot_stack_finish_to(slot_stack *s, slot_sum last, int64_t n, int threads, float *to)
{
    s->sums[s->count++] = last;
    while (s->count > 2)
        join_last(s, n, threads);
    if (s->count == 2)
        add(to, s->sums[0].data, s->sums[1].data, n, s->rounded, threads);
    else if (to != last.data)
        memcpy(to, last.data, (size_t)n * sizeof *to);
    s->count = 0;
}

float *slot_stack_finish(slot_stack *s, int64_t n, int threads)
{
    while (s->count > 1)
        join_last(s, n, threads);
    return s->count ? s->sums[0].data : NULL;
}
