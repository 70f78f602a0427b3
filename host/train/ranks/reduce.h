/* reduce.h - numbers of all ranks become one, in the order of ranks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_RANKS_REDUCE_H
#define HOST_TRAIN_RANKS_REDUCE_H

#include "tutti/ranks.h"

/* Of one rank each: `stride` bytes from rank to rank.  Aligned to a number's size. */
typedef struct reduce_input {
    const void *data;
    uint64_t stride;
    int32_t ranks; /* at least 1 */
} reduce_input;

/* E_ARG: no such type or operation, or a mean of integers. */
TUTTI_NODISCARD tutti_status reduce_check(int32_t dtype, int32_t op, tutti_error *err);
const char *reduce_name(int32_t op); /* also of what is none */
/* `to` gets n numbers of dtype: of each the op of all ranks'.  Both are good. */
void reduce_numbers(void *to, const reduce_input *from, uint64_t n, int32_t dtype, int32_t op);

#endif
