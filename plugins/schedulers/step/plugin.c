/* plugin.c - step: the factor falls by gamma every step_size. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "step"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    tutti_time step = {0, 0.0, 0, 0};
    const tutti_status status = schedule_length(s, c->step_size, "step_size", &step, err);
    if (status != TUTTI_OK)
        return status;
    *ret = pow(c->gamma, floor(schedule_now(s, step.unit) / (double)step.count));
    return TUTTI_OK;
}
