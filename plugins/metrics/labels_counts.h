/* labels_counts.h - the shell of a metric over labels that is a ratio of counts at one threshold.  The including file
 * defines METRIC_NAME first and labels_ratio after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_COUNTS_H
#define LABELS_COUNTS_H

#include "labels_plugin.h"

/* The sums of a label: of samples, by prediction and target. */
enum { LABELS_TP, LABELS_FP, LABELS_FN, LABELS_TN, LABELS_COUNTS };

typedef struct labels_parts {
    double above, below;
} labels_parts;

/* The plugin's own: the metric as a ratio, 0 where nothing is below. */
static labels_parts labels_ratio(const double *n);

static int64_t labels_size(const labels *m)
{
    (void)m;
    return LABELS_COUNTS;
}

static void labels_add(const labels *m, double *sums, float p, int positive)
{
    const int guess = p > (float)m->threshold;
    sums[positive ? (guess ? LABELS_TP : LABELS_FN) : (guess ? LABELS_FP : LABELS_TN)] += 1.0;
}

static double labels_ones(const labels *m, const double *sums)
{
    (void)m;
    return sums[LABELS_TP] + sums[LABELS_FN];
}

static double labels_value(const labels *m, const double *sums)
{
    const labels_parts r = labels_ratio(sums);
    (void)m;
    return r.below > 0.0 ? r.above / r.below : 0.0;
}

#endif
