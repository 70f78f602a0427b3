/* piece.c - where a piece is in the tree of all slots: blocks of ranks, and what rounds have come to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <string.h>

uint32_t sum_blocks(const world *w, const world_piece *one, int32_t r,
                    slot_span blocks[SLOT_BLOCKS])
{
    if (!one->rounds)
        return slots_blocks(slots_of_rank(one->slots, w->info.size, r), blocks);
    blocks[0] = (slot_span){one->round * w->info.size + r, 1};
    return blocks[0].first < one->slots;
}

void sum_take_up(const world *w, const world_piece *one, slot_stack *stack)
{
    slot_span blocks[SLOT_BLOCKS];
    if (!one->rounds)
        return;
    stack->count = slots_blocks((slot_span){0, one->round * w->info.size}, blocks);
    for (uint32_t k = 0; k < stack->count; k++)
        stack->sums[k] = (slot_sum){one->rounds->sums[k] + one->own_at, blocks[k]};
}

bool sum_is_over(const world *w, const world_piece *one)
{
    return !one->rounds || (one->round + 1) * w->info.size >= one->slots;
}

void sum_put_down(const world *w, const world_piece *one, slot_stack *stack, slot_sum last,
                  float *result, int64_t n)
{
    if (sum_is_over(w, one)) {
        slot_stack_finish_to(stack, last, n, 1, result);
        return;
    }
    slot_stack_push(stack, last, n, 1);
    for (uint32_t k = 0; k < stack->count; k++) {
        float *to = one->rounds->sums[k] + one->own_at;
        if (to != stack->sums[k].data)
            memcpy(to, stack->sums[k].data, (size_t)n * sizeof *to);
    }
}
