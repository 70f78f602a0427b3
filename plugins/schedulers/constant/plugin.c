/* plugin.c - constant: the factor is alpha until t_max, then 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "constant"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    tutti_time end = {0, 0.0, 0, 0};
    const tutti_status status = schedule_length(s, c->t_max, "t_max", &end, err);
    if (status != TUTTI_OK)
        return status;
    *ret = schedule_now(s, end.unit) < (double)end.count ? c->alpha : 1.0;
    return TUTTI_OK;
}
