/* plugin.c - cohen_kappa: agreement of predictions and targets beyond that of chance. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "cohen_kappa"
#include "../class_counts_plugin.h"

static double class_counts_metric(const class_counts *m)
{
    double hits = 0.0, chance = 0.0;
    const double n = class_total(m);
    for (int64_t c = 0; c < m->classes; c++) {
        hits += class_hits(m, c) / n;
        chance += class_predictions(m, c) / n * (class_targets(m, c) / n);
    }
    return chance < 1.0 ? (hits - chance) / (1.0 - chance) : 0.0;
}
