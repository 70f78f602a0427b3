/* class_counts_plugin.h - the shell of a metric plugin that is a function of hits, predictions and targets of each
 * class.  The including file defines METRIC_NAME, the object's name, first and class_counts_metric after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLASS_COUNTS_PLUGIN_H
#define CLASS_COUNTS_PLUGIN_H

#include "class_counts.h"
#include "metric_rows.h"

/* The plugin's own: the metric, where at least one row was counted. */
static double class_counts_metric(const class_counts *m);

/* A row of logits whose class is `c`. */
static inline void class_counts_add(const class_counts *m, const float *x, int64_t classes,
                                    int64_t c)
{
    const int hit = metric_rank(x, classes, c) < m->top_k;
    const int64_t guess = hit ? c : metric_argmax(x, classes);
    const int one = m->classes == 1;
    m->sums[one ? 0 : c] += hit;
    m->sums[m->classes + (one ? 0 : guess)] += 1.0;
    m->sums[2 * m->classes + (one ? 0 : c)] += 1.0;
}

static tutti_status class_counts_update(void *self, const tutti_metric_input *in,
                                        tutti_error *err)
{
    const class_counts *m = (const class_counts *)self;
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    if (m->top_k > classes)
        return metric_refuse_k(METRIC_NAME, "top_k", m->top_k, classes, err);
    if (m->classes > 1 && classes != m->classes)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          METRIC_NAME ": outputs have %lld classes, num_classes is %lld",
                          (long long)classes, (long long)m->classes);
    for (int pass = 0; pass < 2; pass++) /* all targets are looked at before any is counted */
        for (int64_t r = 0; r < rows; r++) {
            metric_target t;
            int counts = 0;
            status =
                metric_read_target(METRIC_NAME, in, r, classes, m->ignored, &t, &counts, err);
            if (status != TUTTI_OK)
                return status;
            if (pass == 0 || !counts)
                continue;
            class_counts_add(m, x + r * classes, classes,
                             t.soft ? metric_argmax(t.soft, classes) : t.class_index);
        }
    return TUTTI_OK;
}

static void class_counts_reset(void *self)
{
    const class_counts *m = (const class_counts *)self;
    memset(m->sums, 0, (size_t)(3 * m->classes) * sizeof *m->sums);
}

static double class_counts_compute(void *self)
{
    const class_counts *m = (const class_counts *)self;
    return class_total(m) > 0.0 ? class_counts_metric(m) : (double)NAN;
}

static tutti_status class_counts_close(void *self, tutti_error *err)
{
    class_counts *m = (class_counts *)self;
    free(m->sums);
    free(m);
    return TUTTI_OK;
}

static tutti_status class_counts_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const int named = tutti_param_is_set(params, "num_classes");
    const int32_t average = (int32_t)tutti_param_i64(params, "average");
    const int64_t classes = named ? tutti_param_i64(params, "num_classes") : 1;
    const int64_t one =
        tutti_param_is_set(params, "class") ? tutti_param_i64(params, "class") : -1;
    if (!named && (average != CLASS_MICRO || one >= 0))
        return tutti_fail(err, TUTTI_E_ARG, METRIC_NAME ": %s wants num_classes",
                          one >= 0 ? "a class" : "an average over classes");
    if (one >= classes)
        return tutti_fail(err, TUTTI_E_RANGE,
                          METRIC_NAME ": class is %lld, num_classes is %lld", (long long)one,
                          (long long)classes);
    class_counts *m = (class_counts *)calloc(1, sizeof *m);
    if (m) {
        m->classes = classes;
        m->sums = (double *)calloc((size_t)(3 * m->classes), sizeof *m->sums);
    }
    if (!m || !m->sums) {
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->average = average;
    m->one = one;
    m->top_k = tutti_param_i64(params, "top_k") > 1 ? tutti_param_i64(params, "top_k") : 1;
    m->ignored = metric_ignored_of(params);
    m->table.struct_size = (uint32_t)sizeof m->table;
    m->table.nsums = (uint32_t)(3 * m->classes);
    m->table.sums = m->sums;
    m->table.name = METRIC_NAME;
    m->table.reset = class_counts_reset;
    m->table.update = class_counts_update;
    m->table.compute = class_counts_compute;
    *ret_self = m;
    return TUTTI_OK;
}

static const void *class_counts_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const class_counts *)self)->table
                                                      : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = class_counts_open, .close = class_counts_close,
                    .query = class_counts_query);

#endif
