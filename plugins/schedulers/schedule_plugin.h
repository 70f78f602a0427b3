/* schedule_plugin.h - the shell of a schedule plugin around its one function, schedule_factor.  The
 * including file defines SCHEDULE_NAME, the object's name, first and schedule_factor after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_PLUGIN_H
#define SCHEDULE_PLUGIN_H

#include "schedule.h"
#include "tutti/log.h"
#include "tutti/tutti.h"

#include <stdlib.h>

/* The settings that schedules have; each manifest declares its own among them. */
typedef struct schedule {
    tutti_time step_size;
    tutti_time decay_period;
    tutti_time t_max;
    tutti_time t_0;
    tutti_time t_warmup;
    tutti_time *milestones;
    uint64_t nmilestones;
    double gamma;
    double alpha;
    double alpha_0;
    double alpha_i;
    double alpha_f;
    double power;
    double t_mult;
    int scale_warmup;
} schedule;

/* The plugin's own: the factor at s->now.  Texts begin with the setting's name. */
static tutti_status schedule_factor(const schedule *c, const tutti_schedule *s, double *ret,
                                    tutti_error *err);

/* gamma ^ (number of milestones passed); for both multistep schedules. */
static inline tutti_status schedule_steps(const schedule *c, const tutti_schedule *s,
                                          double *ret, tutti_error *err)
{
    double factor = 1.0;
    for (uint64_t k = 0; k < c->nmilestones; k++) {
        tutti_time m = {0, 0.0, 0, 0};
        const tutti_status status =
            schedule_count(s, c->milestones[k], "milestones", 1, &m, err);
        if (status != TUTTI_OK)
            return status;
        if (tutti_timestamp_get(s->now, m.unit) >= m.count)
            factor *= c->gamma;
    }
    *ret = factor;
    return TUTTI_OK;
}

static tutti_status schedule_multiplier(void *self, const tutti_schedule *s,
                                        double *ret_multiplier, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    double factor = 0.0;
    const tutti_status status = schedule_factor((const schedule *)self, s, &factor, &cause);
    if (status != TUTTI_OK)
        return tutti_fail(err, status, SCHEDULE_NAME ": %s", cause.text);
    *ret_multiplier = factor;
    return TUTTI_OK;
}

/* An empty warm-up is legal and seldom meant. */
static void schedule_warn(const tutti_host *host, const tutti_params *params)
{
    const tutti_time t = tutti_param_time(params, "t_warmup");
    if (t.unit == TUTTI_UNIT_NONE || t.count != 0 || t.fraction != 0.0)
        return;
    const tutti_log_v1 *log = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    if (log)
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "t_warmup is 0: " SCHEDULE_NAME " runs without a warm-up");
}

static tutti_status schedule_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const tutti_param *list = tutti_param_find(params, "milestones");
    schedule *c = (schedule *)calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, SCHEDULE_NAME ": no memory");
    if (list && list->count) {
        c->milestones = (tutti_time *)calloc(list->count, sizeof *c->milestones);
        if (!c->milestones) {
            free(c);
            return tutti_fail(err, TUTTI_E_NOMEM, SCHEDULE_NAME ": no memory");
        }
        for (uint64_t k = 0; k < list->count; k++)
            c->milestones[k] = list->items[k]->t;
        c->nmilestones = list->count;
    }
    c->step_size = tutti_param_time(params, "step_size");
    c->decay_period = tutti_param_time(params, "decay_period");
    c->t_max = tutti_param_time(params, "t_max");
    c->t_0 = tutti_param_time(params, "t_0");
    c->t_warmup = tutti_param_time(params, "t_warmup");
    c->gamma = tutti_param_f64(params, "gamma");
    c->alpha = tutti_param_f64(params, "alpha");
    c->alpha_0 = tutti_param_f64(params, "alpha_0");
    c->alpha_i = tutti_param_f64(params, "alpha_i");
    c->alpha_f = tutti_param_f64(params, "alpha_f");
    c->power = tutti_param_f64(params, "power");
    c->t_mult = tutti_param_f64(params, "t_mult");
    c->scale_warmup = tutti_param_i64(params, "scale_warmup") != 0;
    schedule_warn(host, params);
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status schedule_close(void *self, tutti_error *err)
{
    schedule *c = (schedule *)self;
    free(c->milestones);
    free(c);
    return TUTTI_OK;
}

static const void *schedule_query(void *self, const char *interface_id)
{
    static const tutti_scheduler_v1 table = {.struct_size = (uint32_t)sizeof table,
                                             .multiplier = schedule_multiplier};
    return strcmp(interface_id, TUTTI_SCHEDULER_V1) == 0 ? &table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." SCHEDULE_NAME, "1.0.0", SCHEDULE_NAME, TUTTI_KIND_SCHEDULER,
                    .open = schedule_open, .close = schedule_close, .query = schedule_query);

#endif
