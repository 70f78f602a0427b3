/* plugin.c - polynomial: from 1 to alpha_f as a power of the time that is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "polynomial"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    tutti_time end = {0, 0.0, 0, 0};
    const tutti_status status = schedule_length(s, c->t_max, "t_max", &end, err);
    if (status != TUTTI_OK)
        return status;
    *ret = ramp_polynomial(c->alpha_f, c->power, schedule_passed(s, end));
    return TUTTI_OK;
}
