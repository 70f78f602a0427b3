/* labels_plugin.h - the shell of a metric plugin over several labels a sample: logits (B, ..., K) and targets of 0 and
 * 1; with LABELS_OF_CLASSES over classes, each against all others.  The including file defines METRIC_NAME, the object's
 * name, first, and labels_add, labels_size and labels_value after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_PLUGIN_H
#define LABELS_PLUGIN_H

#include "numbers.h"
#include "tutti/metric.h"
#include "tutti/tutti.h"

#include <stdlib.h>

#ifdef LABELS_OF_CLASSES
#define LABELS_ONE "class"
#define LABELS_COUNT_NAME "num_classes"
#else
#define LABELS_ONE "label"
#define LABELS_COUNT_NAME "num_labels"
#endif

/* How labels are brought to one number, as torchmetrics has it; in the order of the manifest's words. */
enum {
    LABELS_MACRO,   /* the mean of the labels */
    LABELS_MICRO,   /* of all labels together */
    LABELS_WEIGHTED /* the mean by the count of ones */
};

typedef struct labels {
    tutti_metric_v1 table;
    double *sums;   /* `each` a label, one label after the other */
    double *pooled; /* `each` numbers, for labels_reduce */
    int64_t count;  /* num_labels */
    int64_t each;
    int64_t steps;    /* thresholds, where the metric has several */
    double threshold; /* where it has one */
    int64_t ignored;
    int64_t label; /* the one to tell of, or -1 */
    int32_t ignores;
    int32_t average; /* LABELS_* */
} labels;

/* The plugin's own: how many sums a label has; adds a sample of probability `p` to them; the metric of such sums. */
static int64_t labels_size(const labels *m);
static void labels_add(const labels *m, double *sums, float p, int positive);
static double labels_value(const labels *m, const double *sums);
/* The plugin's own: how many ones the sums have seen. */
static double labels_ones(const labels *m, const double *sums);

#ifdef LABELS_OF_CLASSES
#include "labels_of_classes.h"
#else
#include "labels_update.h"
#endif

static void labels_reset(void *self)
{
    const labels *m = (const labels *)self;
    memset(m->sums, 0, (size_t)(m->count * m->each) * sizeof *m->sums);
}

/* The value of all labels' sums together. */
static inline double labels_micro(const labels *m)
{
    memset(m->pooled, 0, (size_t)m->each * sizeof *m->pooled);
    for (int64_t k = 0; k < m->count * m->each; k++)
        m->pooled[k % m->each] += m->sums[k];
    return labels_value(m, m->pooled);
}

static double labels_compute(void *self)
{
    const labels *m = (const labels *)self;
    double any = 0.0, value = 0.0, weights = 0.0;
    for (int64_t k = 0; k < m->count * m->each; k++)
        any += m->sums[k];
    if (any == 0.0)
        return (double)NAN;
    if (m->label >= 0)
        return labels_value(m, m->sums + m->label * m->each);
    if (m->average == LABELS_MICRO)
        return labels_micro(m);
    for (int64_t k = 0; k < m->count; k++) {
        const double *sums = m->sums + k * m->each;
        const double weight = m->average == LABELS_WEIGHTED ? labels_ones(m, sums) : 1.0;
        value += weight * labels_value(m, sums);
        weights += weight;
    }
    return weights > 0.0 ? value / weights : 0.0;
}

static tutti_status labels_close(void *self, tutti_error *err)
{
    labels *m = (labels *)self;
    (void)err;
    free(m->sums);
    free(m->pooled);
    free(m);
    return TUTTI_OK;
}

static inline void labels_settings(labels *m, const tutti_params *params)
{
    m->count = tutti_param_i64(params, LABELS_COUNT_NAME);
    m->average = (int32_t)tutti_param_i64(params, "average");
#ifdef LABELS_OF_CLASSES /* there is no micro */
    m->average = m->average ? LABELS_WEIGHTED : LABELS_MACRO;
#endif
    m->label =
        tutti_param_is_set(params, LABELS_ONE) ? tutti_param_i64(params, LABELS_ONE) : -1;
    m->ignores = tutti_param_is_set(params, "ignore_index");
    m->ignored = tutti_param_i64(params, "ignore_index");
    m->threshold = tutti_param_f64(params, "threshold");
    m->steps =
        tutti_param_find(params, "thresholds") ? tutti_param_i64(params, "thresholds") : 0;
    m->each = labels_size(m);
}

static tutti_status labels_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    labels *m = (labels *)calloc(1, sizeof *m);
    (void)host;
    if (m) {
        labels_settings(m, params);
        m->sums = (double *)calloc((size_t)(m->count * m->each), sizeof *m->sums);
        m->pooled = (double *)calloc((size_t)m->each, sizeof *m->pooled);
    }
    if (!m || !m->sums || !m->pooled || m->label >= m->count) {
        const tutti_status s =
            m && m->label >= m->count
                ? tutti_fail(err, TUTTI_E_RANGE,
                             METRIC_NAME ": " LABELS_ONE " is %lld, " LABELS_COUNT_NAME
                                         " is %lld",
                             (long long)m->label, (long long)m->count)
                : tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
        if (m)
            (void)labels_close(m, NULL);
        return s;
    }
    m->table.struct_size = (uint32_t)sizeof m->table;
    m->table.nsums = (uint32_t)(m->count * m->each);
    m->table.sums = m->sums;
    m->table.name = METRIC_NAME;
    m->table.reset = labels_reset;
    m->table.update = labels_update;
    m->table.compute = labels_compute;
    *ret_self = m;
    return TUTTI_OK;
}

static const void *labels_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const labels *)self)->table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = labels_open, .close = labels_close, .query = labels_query);

#endif
