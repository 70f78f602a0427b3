/* class_counts_plugin.h - the shell of a metric plugin that is a function of hits, predictions and targets of each
 * class.  The including file defines METRIC_NAME, the object's name, first and class_counts_metric after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLASS_COUNTS_PLUGIN_H
#define CLASS_COUNTS_PLUGIN_H

#include "metric_rows.h"

/* How classes are brought to one number, as torchmetrics has it; in the order of the manifest's words. */
enum {
    CLASS_MACRO,   /* the mean of the classes that occur among targets or predictions */
    CLASS_MICRO,   /* of all classes together */
    CLASS_WEIGHTED /* the mean by the count of targets */
};

typedef struct class_counts {
    tutti_metric_v1 table;
    double *sums; /* of `classes` each: hits, then predictions, then targets */
    int64_t classes;
    metric_ignored ignored;
    int32_t average; /* CLASS_* */
    int32_t reserved;
} class_counts;

/* Counts of one class against all others. */
typedef struct class_count {
    double tp, fp, fn, tn;
} class_count;

/* The plugin's own: the metric, where at least one row was counted. */
static double class_counts_metric(const class_counts *m);

static inline double class_hits(const class_counts *m, int64_t c)
{
    return m->sums[c];
}

static inline double class_predictions(const class_counts *m, int64_t c)
{
    return m->sums[m->classes + c];
}

static inline double class_targets(const class_counts *m, int64_t c)
{
    return m->sums[2 * m->classes + c];
}

static inline double class_total(const class_counts *m)
{
    double n = 0.0;
    for (int64_t c = 0; c < m->classes; c++)
        n += class_targets(m, c);
    return n;
}

static inline class_count class_count_of(const class_counts *m, int64_t c, double total)
{
    const double tp = class_hits(m, c), fp = class_predictions(m, c) - tp;
    const double fn = class_targets(m, c) - tp;
    const class_count k = {tp, fp, fn, total - tp - fp - fn};
    return k;
}

/* A ratio of counts; a class without any is 0. */
typedef struct class_ratio {
    double above, below;
} class_ratio;

static inline double class_divide(class_ratio r)
{
    return r.below != 0.0 ? r.above / r.below : 0.0;
}

/* Classes' ratios averaged as the setting says. */
static inline double class_average(const class_counts *m, class_ratio (*ratio)(class_count k))
{
    const double total = class_total(m);
    class_ratio all = {0.0, 0.0};
    double sum = 0.0, weights = 0.0;
    for (int64_t c = 0; c < m->classes; c++) {
        const class_count k = class_count_of(m, c, total);
        const class_ratio r = ratio(k);
        const double occurs = k.tp + k.fp + k.fn > 0.0 ? 1.0 : 0.0;
        const double weight = m->average == CLASS_WEIGHTED ? k.tp + k.fn : occurs;
        all.above += r.above;
        all.below += r.below;
        sum += weight * class_divide(r);
        weights += weight;
    }
    if (m->average == CLASS_MICRO)
        return class_divide(all);
    return weights > 0.0 ? sum / weights : 0.0;
}

static tutti_status class_counts_update(void *self, const tutti_metric_input *in,
                                        tutti_error *err)
{
    class_counts *m = (class_counts *)self;
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    if (classes != m->classes)
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
            const int64_t c = t.soft ? metric_argmax(t.soft, classes) : t.class_index;
            const int64_t guess = metric_argmax(x + r * classes, classes);
            m->sums[c] += guess == c;
            m->sums[classes + guess] += 1.0;
            m->sums[2 * classes + c] += 1.0;
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
    class_counts *m = (class_counts *)calloc(1, sizeof *m);
    if (m) {
        m->classes = tutti_param_i64(params, "num_classes");
        m->sums = (double *)calloc((size_t)(3 * m->classes), sizeof *m->sums);
    }
    if (!m || !m->sums) {
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->average = (int32_t)tutti_param_i64(params, "average");
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
