/* monitor.h - one metric of one data set, watched by the callbacks that stop training. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MONITOR_H
#define MONITOR_H

#include "callback.h"
#include "tutti/metrics.h"
#include "tutti/state.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct monitor {
    const tutti_state_v1 *state;
    const tutti_metrics_v1 *metrics;
    const char *who;    /* the callback */
    const char *metric; /* "accuracy" */
    const char *label;  /* "train", or an evaluation's */
    bool greater;       /* more is better */
} monitor;

static inline bool monitor_contains(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; *text; text++) {
        size_t k = 0;
        while (k < n && text[k] && (text[k] | 0x20) == part[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* Reads the settings monitor, dataloader_label and comp.  Without comp, less is better where the name
 * tells of a loss. */
static inline tutti_status monitor_open(monitor *m, const char *who, const tutti_host *host,
                                        const tutti_params *params, tutti_error *err)
{
    m->state = (const tutti_state_v1 *)callback_service(host, who, TUTTI_STATE_V1, err);
    m->metrics = (const tutti_metrics_v1 *)callback_service(host, who, TUTTI_METRICS_V1, err);
    if (!m->state || !m->metrics)
        return TUTTI_E_UNSUPPORTED;
    m->who = who;
    m->metric = tutti_param_str(params, "monitor");
    m->label = tutti_param_str(params, "dataloader_label");
    if (!m->metric || !m->label)
        return tutti_fail(err, TUTTI_E_ARG, "%s: monitor and dataloader_label must be set",
                          who);
    const char *comp = tutti_param_str(params, "comp");
    if (comp)
        m->greater = comp[0] == 'g';
    else
        m->greater = !monitor_contains(m->metric, "loss") &&
                     !monitor_contains(m->metric, "error") &&
                     !monitor_contains(m->metric, "perplexity") &&
                     !monitor_contains(m->metric, "entropy");
    return TUTTI_OK;
}

/* Whether the present event is about the watched data, and has a value of its own: an evaluation that was cut has none. */
static inline bool monitor_here(const monitor *m)
{
    const char *now = m->state->eval_label(m->state->ctx);
    return strcmp(now ? now : "train", m->label) == 0 && !(now && tutti_eval_is_cut(m->state));
}

static inline bool monitor_better(const monitor *m, double a, double b)
{
    return m->greater ? a > b : a < b;
}

static inline tutti_status monitor_read(const monitor *m, double *ret, tutti_error *err)
{
    char name[192], known[256] = "";
    tutti_error none = TUTTI_ERROR_INIT;
    (void)snprintf(name, sizeof name, "metrics/%s/%s", m->label, m->metric);
    if (m->metrics->get(m->metrics->ctx, name, ret, &none) == TUTTI_OK)
        return TUTTI_OK;
    const char *one;
    for (uint32_t k = 0; (one = m->metrics->name_at(m->metrics->ctx, k)); k++) {
        const size_t used = strlen(known);
        if (strncmp(one, "metrics/", 8) == 0)
            (void)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", one);
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: there is no %s; the run has: %s", m->who,
                      name, known[0] ? known : "no metrics");
}

#endif
