/* plugin.c - multistep: the factor falls by gamma at each milestone. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "multistep"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    return schedule_steps(c, s, ret, err);
}
