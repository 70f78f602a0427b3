/* plugin.c - matthews_corrcoef: correlation of predictions and targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "matthews_corrcoef"
#include "../class_counts_plugin.h"

static double class_counts_metric(const class_counts *m)
{
    const double n = class_total(m);
    double hits = 0.0, both = 0.0, predictions = 0.0, targets = 0.0;
    for (int64_t c = 0; c < m->classes; c++) {
        const double p = class_predictions(m, c), t = class_targets(m, c);
        hits += class_hits(m, c);
        both += p * t;
        predictions += p * p;
        targets += t * t;
    }
    const double below = sqrt((n * n - predictions) * (n * n - targets));
    return below > 0.0 ? (hits * n - both) / below : 0.0;
}
