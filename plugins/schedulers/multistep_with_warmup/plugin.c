/* plugin.c - multistep_with_warmup: multistep after a linear warm-up from 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "multistep_with_warmup"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    warmup w = {0, 0, 0.0, 0.0};
    const tutti_status status =
        schedule_warmup(s, c->t_warmup, c->scale_warmup, 1.0, NULL, &w, err);
    if (status != TUTTI_OK)
        return status;
    if (!w.active)
        return schedule_steps(c, s, ret, err);
    *ret = w.factor;
    return TUTTI_OK;
}
