/* metric_set.c - the metric objects of one data source. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/metric_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_status metric_set_open(run_context *run, metric_set *m, run_parts *parts,
                             tutti_error *err)
{
    m->instances = calloc(parts->count + 1, sizeof *m->instances);
    m->tables = calloc(parts->count + 1, sizeof *m->tables);
    if (!m->instances || !m->tables)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for metrics");
    for (size_t k = 0; k < parts->count; k++) {
        const tutti_status s = context_open(run, &parts->items[k], &m->instances[k], err);
        if (s)
            return s;
        m->count = k + 1;
        m->tables[k] = instance_query(m->instances[k], TUTTI_METRIC_V1);
        if (!m->tables[k])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "metric %s has no " TUTTI_METRIC_V1,
                              parts->items[k].name);
    }
    return TUTTI_OK;
}

void metric_set_reset(metric_set *m)
{
    m->updated = false;
    for (size_t k = 0; k < m->count; k++) {
        instance_call c = instance_enter(m->instances[k], "reset");
        m->tables[k]->reset(instance_self(m->instances[k]));
        instance_leave(&c);
    }
}

tutti_status metric_set_update(metric_set *m, const tutti_metric_input *in, tutti_error *err)
{
    m->updated = true;
    for (size_t k = 0; k < m->count; k++) {
        instance_call c = instance_enter(m->instances[k], "update");
        const tutti_status s = m->tables[k]->update(instance_self(m->instances[k]), in, err);
        instance_leave(&c);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

void metric_set_log(run_log *l, metric_set *m, const char *label, uint64_t step)
{
    if (!m->updated) /* nothing was measured */
        return;
    for (size_t k = 0; k < m->count; k++) {
        char name[160];
        (void)snprintf(name, sizeof name, "metrics/%s/%s", label,
                       instance_name(m->instances[k]));
        instance_call c = instance_enter(m->instances[k], "compute");
        const tutti_named_value v = {name,
                                     m->tables[k]->compute(instance_self(m->instances[k]))};
        instance_leave(&c);
        run_log_metrics_at(l, &v, 1, step);
    }
}

void metric_set_close(metric_set *m)
{
    for (size_t k = 0; k < m->count; k++)
        instance_free(m->instances[k]);
    free(m->instances);
    free((void *)m->tables);
    memset(m, 0, sizeof *m);
}
