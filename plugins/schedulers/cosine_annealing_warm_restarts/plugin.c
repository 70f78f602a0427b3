/* plugin.c - cosine_annealing_warm_restarts: half cosines, each t_mult times as long. */
/* SPDX-License-Identifier: Apache-2.0 */
#define SCHEDULE_NAME "cosine_annealing_warm_restarts"
#include "../schedule_plugin.h"

static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err)
{
    tutti_time first = {0, 0.0, 0, 0};
    const tutti_status status = schedule_length(s, c->t_0, "t_0", &first, err);
    if (status != TUTTI_OK)
        return status;
    int64_t into = tutti_timestamp_get(s->now, first.unit), length = first.count;
    while (into >= length) {
        const int64_t next = schedule_cut(c->t_mult * (double)length);
        if (next == 0)
            return tutti_fail(
                err, TUTTI_E_RANGE, "t_mult shrinks the interval to nothing before %lld%s",
                (long long)tutti_timestamp_get(s->now, first.unit), schedule_unit(first.unit));
        if (next == length) { /* and so are all that follow */
            into %= length;
            break;
        }
        into -= length;
        length = next;
    }
    *ret = ramp_cosine(c->alpha_f, (double)into / (double)length);
    return TUTTI_OK;
}
