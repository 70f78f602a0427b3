/* cross_entropy_row.h - what a row adds to a mean cross-entropy; after metric_plugin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CROSS_ENTROPY_ROW_H
#define CROSS_ENTROPY_ROW_H

#include "metric_plugin.h"

static void metric_row(const metric *m, const float *x, int64_t classes, metric_target target,
                       double *sums)
{
    double most = -INFINITY, total = 0.0, loss = 0.0, weight = 0.0;
    for (int64_t j = 0; j < classes; j++)
        most = x[j] > most || isnan(x[j]) ? (double)x[j] : most;
    for (int64_t j = 0; j < classes; j++)
        total += exp((double)x[j] - most);
    const double log_total = most + log(total);
    if (target.soft) {
        for (int64_t j = 0; j < classes; j++) {
            if (target.soft[j] != 0.0f)
                loss += (double)target.soft[j] * (log_total - (double)x[j]);
            weight += (double)target.soft[j];
        }
    } else {
        loss = log_total - (double)x[target.class_index];
        weight = 1.0;
    }
    sums[0] += loss;
    sums[1] += weight;
}

#endif
