/* slots.h - which microbatches of a batch a rank computes, and the one order in which their gradients are summed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_SLOTS_H
#define HOST_DIST_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/* A batch is cut into slots, one a microbatch.  Floating point sums depend on their order, so all slots are summed by
 * one binary tree, whichever ranks hold them: neighbours of equal size first, as a binary counter carries; what is
 * left over from right to left.  The tree is a function of the number of slots alone. */

/* Slots [first, first + count): of a rank, or below a node of the tree. */
typedef struct slot_span {
    int64_t first, count;
} slot_span;

enum { SLOT_BLOCKS = 128 }; /* a rank's spans have at most so many blocks */

/* Ranks take consecutive slots; their numbers differ by one at most.  Slot 0 is rank 0's, whose callbacks look at it. */
slot_span slots_of_rank(int64_t slots, int32_t size, int32_t rank);

/* Slots first, first + step, ...: those of a rank. */
typedef struct slot_list {
    int64_t first, count, step;
} slot_list;
/* As slots_of_rank. */
slot_list slots_in_row(int64_t slots, int32_t size, int32_t rank);
/* In rounds: of each round's `size` slots every rank takes one, in the order of ranks; the last round may have fewer. */
slot_list slots_in_turn(int64_t slots, int32_t size, int32_t rank);
/* Of slots in rounds: how many rounds, and how many sums of the tree wait between two rounds at most. */
int64_t slots_rounds(int64_t slots, int32_t size);
uint32_t slots_waiting(int64_t slots, int32_t size);

/* The nodes of the tree that lie wholly in `span`, largest possible, in order: a power of two of slots each, which
 * begins at a multiple of it.  Returns how many. */
uint32_t slots_blocks(slot_span span, slot_span blocks[SLOT_BLOCKS]);

/* Adds up arrays by the tree. */
typedef struct slot_sum {
    float *data;
    slot_span span;
} slot_sum;

typedef struct slot_stack {
    slot_sum sums[64];
    uint32_t count;
    int64_t rounded; /* so many of the first numbers of a sum are rounded to bf16 */
} slot_stack;

/* Whether a sum of the stack, or one of `nblocks` others, lies at `data`. */
bool slot_stack_holds(const slot_stack *s, const slot_sum *blocks, uint32_t nblocks,
                      const float *data);
/* Puts the sum of a node behind those that are there, its left neighbours: equal ones become one, in place of the
 * left.  `n` is the arrays' length; who calls keeps the arrays. */
void slot_stack_push(slot_stack *s, slot_sum sum, int64_t n, int threads);
/* Numbers [at, at + n) of what slot_stack_push would make of the stack with the sum of a last slot, which lies at `part`:
 * put into the first sum's array, where there is one.  For the last slot of a block; the stack stays. */
void slot_stack_add_part(const slot_stack *s, const float *part, int64_t at, int64_t n,
                         int threads);
/* Whether the next slot, pushed now, would be added to what is there at once. */
int slot_stack_takes(const slot_stack *s, int64_t slot);
/* rows[0] becomes the sum of `slots` rows of `n` numbers, one a slot in order, by the same tree; the others are
 * overwritten. */
void slots_add_rows(double *rows, int64_t slots, int64_t n);
/* Numbers as such a stack's: rounded to bf16. */
void slots_round(float *numbers, int64_t n, int threads);
/* Pushes `last` and adds up all, with the last addition stored to `to`, which may be any of the arrays; the others but
 * `last` are overwritten, and nothing is left on the stack. */
void slot_stack_finish_to(slot_stack *s, slot_sum last, int64_t n, int threads, float *to);
/* The sum of all, in the first one's place; NULL where nothing was pushed. */
float *slot_stack_finish(slot_stack *s, int64_t n, int threads);

#endif
