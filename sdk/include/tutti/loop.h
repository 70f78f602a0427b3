/* loop.h - tutti.loop/1: the loop of `tutti run`, for its process function and handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOOP_H
#define TUTTI_LOOP_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_LOOP_V1 "tutti.loop/1"

/* The batch is tutti.state/1's: its columns by name. */
typedef struct tutti_loop_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Batches so far over all epochs, and epochs; from 1 while one is under way.  [step] */
    int64_t (*iteration)(void *ctx);
    int64_t (*epoch)(void *ctx);
    /* What the process function gives for this batch; NaN before it has.  [step] */
    void (*set_output)(void *ctx, double value);
    double (*output)(void *ctx);
    /* Ends the run or the epoch behind the event under way; `skip` leaves out completed, or
     * epoch_completed.  [step] */
    void (*terminate)(void *ctx, int32_t skip);
    void (*terminate_epoch)(void *ctx, int32_t skip);
} tutti_loop_v1;

TUTTI_ASSERT_OFFSET(tutti_loop_v1, ctx, 8);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, iteration, 16);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, epoch, 24);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, set_output, 32);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, output, 40);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, terminate, 48);
TUTTI_ASSERT_OFFSET(tutti_loop_v1, terminate_epoch, 56);

TUTTI_C_END
#endif
