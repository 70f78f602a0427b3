/* service.c - tutti.loop/1: what functions of plugins can ask of the loop that calls them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_internal.h"

static int64_t get_iteration(void *ctx)
{
    return tutti_loop_get_state(((loop_run *)ctx)->loop)->iteration;
}

static int64_t get_epoch(void *ctx)
{
    return tutti_loop_get_state(((loop_run *)ctx)->loop)->epoch;
}

static void set_output(void *ctx, double value)
{
    ((loop_run *)ctx)->output = value;
}

static double get_output(void *ctx)
{
    return loop_run_output(ctx);
}

static void terminate(void *ctx, int32_t skip)
{
    tutti_loop_terminate(((loop_run *)ctx)->loop, skip);
}

static void terminate_epoch(void *ctx, int32_t skip)
{
    tutti_loop_terminate_epoch(((loop_run *)ctx)->loop, skip);
}

void run_fill_service(loop_run *l)
{
    l->service = (tutti_loop_v1){.struct_size = (uint32_t)sizeof l->service,
                                 .ctx = l,
                                 .iteration = get_iteration,
                                 .epoch = get_epoch,
                                 .set_output = set_output,
                                 .output = get_output,
                                 .terminate = terminate,
                                 .terminate_epoch = terminate_epoch};
}
