/* plugin.c - exponential: the factor falls by gamma over every decay_period, smoothly. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "exponential"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    tutti_time period = {0, 0.0, 0, 0};
    const tutti_status status =
        schedule_length(s, c->decay_period, "decay_period", &period, err);
    if (status != TUTTI_OK)
        return status;
    *ret = pow(c->gamma, schedule_now(s, period.unit) / (double)period.count);
    return TUTTI_OK;
}
