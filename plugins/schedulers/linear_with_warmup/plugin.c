/* plugin.c - linear_with_warmup: a linear ramp from alpha_0 to alpha_i, then a line to alpha_f. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "linear_with_warmup"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    warmup w = {0, 0, 0.0, 0.0};
    tutti_status status = schedule_covers(s, c->t_max, err);
    if (status == TUTTI_OK)
        status = schedule_warmup(s, c->t_warmup, c->scale_warmup, 1.0, &c->t_max, &w, err);
    if (status != TUTTI_OK)
        return status;
    *ret = w.active ? ramp_linear(c->alpha_0, c->alpha_i, w.factor)
                    : ramp_linear(c->alpha_i, c->alpha_f, w.passed);
    return TUTTI_OK;
}
