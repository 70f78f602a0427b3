/* class_counts.h - hits, predictions and targets of each class, and their ratios averaged over classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLASS_COUNTS_H
#define CLASS_COUNTS_H

#include "metric_rows.h"

/* How classes are brought to one number, as torchmetrics has it; in the order of the manifest's words. */
enum {
    CLASS_MACRO,   /* the mean of the classes that occur among targets or predictions */
    CLASS_MICRO,   /* of all classes together */
    CLASS_WEIGHTED /* the mean by the count of targets */
};

typedef struct class_counts {
    tutti_metric_v1 table;
    double *sums;    /* of `classes` each: hits, then predictions, then targets */
    int64_t classes; /* 1: all are one */
    int64_t top_k;   /* a target among so many largest logits is predicted */
    int64_t one;     /* the class to tell of, or -1 */
    metric_ignored ignored;
    int32_t average; /* CLASS_* */
    int32_t reserved;
} class_counts;

/* Counts of one class against all others. */
typedef struct class_count {
    double tp, fp, fn, tn;
} class_count;

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

/* Classes' ratios averaged as the setting says, or that of one class. */
static inline double class_average(const class_counts *m, class_ratio (*ratio)(class_count k))
{
    const double total = class_total(m);
    class_ratio all = {0.0, 0.0};
    double sum = 0.0, weights = 0.0;
    if (m->one >= 0)
        return class_divide(ratio(class_count_of(m, m->one, total)));
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

#endif
