/* slots_test.c - any number of ranks sums in the order of one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/slots.h"

#include "tutti_check.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, NUMBERS = 3 };

/* Numbers of very different size, so that another order gives other bits. */
static float number(int64_t slot, int64_t i)
{
    const float sizes[] = {1e-4f, 3.0f, 7e3f, 0.11f, 5e6f};
    return sizes[(slot * 7 + i) % 5] *
           (float)(1 + (slot * 2654435761u + (uint64_t)i * 97) % 1009);
}

/* The upper 16 bits, to nearest, ties to even. */
static float in_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The definition: aligned neighbours of equal size, then what is left over from right to left. */
static float naive(int64_t first, int64_t count, int64_t i, int64_t rounded)
{
    int64_t half = 1;
    float sum;
    while (half * 2 < count)
        half *= 2;
    sum = count == 1
              ? number(first, i)
              : naive(first, half, i, rounded) + naive(first + half, count - half, i, rounded);
    return i < rounded ? in_bf16(sum) : sum;
}

/* Blocks of one rank, summed slot by slot; *ret_data is to be freed. */
static uint32_t sum_blocks(slot_span span, int64_t rounded, slot_sum *sums, float **ret_data)
{
    slot_span blocks[SLOT_BLOCKS];
    const uint32_t n = slots_blocks(span, blocks);
    float *data = calloc((size_t)span.count + 1, NUMBERS * sizeof *data), *at = data;
    for (uint32_t k = 0; k < n; k++) {
        slot_stack stack = {.rounded = rounded};
        for (int64_t slot = blocks[k].first; slot < blocks[k].first + blocks[k].count;
             slot++, at += NUMBERS) {
            for (int64_t i = 0; i < NUMBERS; i++)
                at[i] = number(slot, i);
            slots_round(at, rounded, 1);
            const bool takes = slot_stack_takes(&stack, slot);
            const uint32_t before = stack.count;
            slot_stack_push(&stack, (slot_sum){at, {slot, 1}}, NUMBERS, 1);
            ck_assert(takes == (stack.count <= before));
        }
        ck_assert_uint_eq(stack.count, 1);
        sums[k] = stack.sums[0];
    }
    *ret_data = data;
    return n;
}

/* The sum of all by one of three ways: where the first one is, `apart`, or where the last one is. */
static const float *finish(slot_stack *all, slot_sum last, int way, float *apart)
{
    float *to = way == 1 ? apart : last.data;
    if (way == 0) {
        slot_stack_push(all, last, NUMBERS, 1);
        return slot_stack_finish(all, NUMBERS, 1);
    }
    slot_stack_finish_to(all, last, NUMBERS, 1, to);
    ck_assert_uint_eq(all->count, 0);
    return to;
}

/* Worlds of every size sum 1 to MOST slots as naive() does, the first `rounded` numbers in bf16. */
static void check_worlds(int64_t rounded)
{
    for (int64_t slots = 1; slots <= MOST; slots++)
        for (int32_t size = 1; size <= MOST; size++) {
            slot_stack all = {.rounded = rounded};
            slot_sum last = {NULL, {0, 0}};
            float *data[MOST], apart[NUMBERS];
            int64_t next = 0;
            for (int32_t rank = 0; rank < size; rank++) {
                const slot_span span = slots_of_rank(slots, size, rank);
                slot_sum sums[SLOT_BLOCKS];
                ck_assert_int_eq(span.first, next);
                ck_assert(rank > 0 || span.count > 0);
                ck_assert_int_ge(span.count, slots / size);
                ck_assert_int_le(span.count, (slots + size - 1) / size);
                next += span.count;
                const uint32_t n = sum_blocks(span, rounded, sums, &data[rank]);
                for (uint32_t k = 0; k < n; k++) {
                    if (last.data)
                        slot_stack_push(&all, last, NUMBERS, 1);
                    last = sums[k];
                }
            }
            ck_assert_int_eq(next, slots);
            const float *sum = finish(&all, last, (int)(slots + size) % 3, apart);
            for (int64_t i = 0; i < NUMBERS; i++) {
                const float want = naive(0, slots, i, rounded);
                ck_assert_mem_eq(&sum[i], &want, sizeof want);
            }
            for (int32_t rank = 0; rank < size; rank++)
                free(data[rank]);
        }
}

START_TEST(every_world_sums_in_one_order)
{
    check_worlds(0);
}
END_TEST

START_TEST(every_world_rounds_the_same_sums)
{
    check_worlds(2);
}
END_TEST

/* Rounds of one slot a rank, of which sums wait in arrays of their own. */
static void sum_rounds(int64_t slots, int32_t size, float result[NUMBERS])
{
    float sums[64][NUMBERS], round[MOST][NUMBERS];
    slot_stack stack = {.count = 0};
    for (int64_t r = 0; r < slots_rounds(slots, size); r++) {
        for (int32_t rank = 0; rank < size; rank++) {
            const slot_list mine = slots_in_turn(slots, size, rank);
            const int64_t slot = mine.first + r * mine.step;
            ck_assert(r < mine.count ? slot == r * size + rank : slot >= slots);
            if (r >= mine.count)
                break;
            for (int64_t i = 0; i < NUMBERS; i++)
                round[rank][i] = number(slot, i);
            slot_stack_push(&stack, (slot_sum){round[rank], {slot, 1}}, NUMBERS, 1);
        }
        if (r + 1 == slots_rounds(slots, size))
            break;
        ck_assert_uint_le(stack.count, slots_waiting(slots, size));
        for (uint32_t k = 0; k < stack.count; k++) {
            if (stack.sums[k].data != sums[k])
                memcpy(sums[k], stack.sums[k].data, sizeof sums[k]);
            stack.sums[k].data = sums[k];
        }
    }
    memcpy(result, slot_stack_finish(&stack, NUMBERS, 1), NUMBERS * sizeof *result);
}

START_TEST(parts_of_very_many_follow_each_other)
{
    const int64_t all = INT64_MAX - 3;
    const int32_t size = 1003;
    int64_t end = 0;
    for (int32_t rank = 0; rank < size; rank++) {
        const slot_span span = slots_of_rank(all, size, rank);
        ck_assert(span.first == end &&
                  (span.count == all / size || span.count == all / size + 1));
        end += span.count;
    }
    ck_assert_int_eq(end, all);
}
END_TEST

START_TEST(rounds_sum_in_the_same_order)
{
    for (int64_t slots = 1; slots <= MOST; slots++)
        for (int32_t size = 1; size <= MOST; size++) {
            float sum[NUMBERS];
            sum_rounds(slots, size, sum);
            for (int64_t i = 0; i < NUMBERS; i++) {
                const float want = naive(0, slots, i, 0);
                ck_assert_mem_eq(&sum[i], &want, sizeof want);
            }
        }
    ck_assert_uint_eq(slots_waiting(4, 4), 0);
    ck_assert_uint_eq(slots_waiting(8, 4), 1);
    ck_assert_uint_eq(slots_waiting(16, 4), 2);
    ck_assert_uint_eq(slots_waiting(8, 3), 2);
}
END_TEST

static double wide(int64_t first, int64_t count, int64_t i)
{
    int64_t half = 1;
    while (half * 2 < count)
        half *= 2;
    return count == 1 ? (double)number(first, i) / 3.0
                      : wide(first, half, i) + wide(first + half, count - half, i);
}

START_TEST(rows_are_added_by_the_same_tree)
{
    static double rows[MOST * NUMBERS];
    for (int64_t slots = 1; slots <= MOST; slots++) {
        for (int64_t k = 0; k < slots * NUMBERS; k++)
            rows[k] = (double)number(k / NUMBERS, k % NUMBERS) / 3.0;
        slots_add_rows(rows, slots, NUMBERS);
        for (int64_t i = 0; i < NUMBERS; i++)
            ck_assert(rows[i] == wide(0, slots, i));
    }
}
END_TEST

START_TEST(blocks_are_aligned_powers_of_two_that_cover_the_span)
{
    for (int64_t first = 0; first < MOST; first++)
        for (int64_t count = 0; first + count <= MOST; count++) {
            slot_span blocks[SLOT_BLOCKS];
            const uint32_t n = slots_blocks((slot_span){first, count}, blocks);
            int64_t at = first;
            for (uint32_t k = 0; k < n; k++) {
                ck_assert_int_eq(blocks[k].first, at);
                ck_assert_int_eq(blocks[k].count & (blocks[k].count - 1), 0);
                ck_assert_int_eq(blocks[k].first % blocks[k].count, 0);
                at += blocks[k].count;
            }
            ck_assert_int_eq(at, first + count);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slots");
    TCase *c = tcase_create("slots");
    tcase_add_test(c, every_world_sums_in_one_order);
    tcase_add_test(c, parts_of_very_many_follow_each_other);
    tcase_add_test(c, every_world_rounds_the_same_sums);
    tcase_add_test(c, rounds_sum_in_the_same_order);
    tcase_add_test(c, rows_are_added_by_the_same_tree);
    tcase_add_test(c, blocks_are_aligned_powers_of_two_that_cover_the_span);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
