/* plugin.c - f1_score: 2 tp / (2 tp + fp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "f1_score"
#include "../class_counts_plugin.h"

static class_ratio f1_score_of(class_count k)
{
    const class_ratio r = {2.0 * k.tp, 2.0 * k.tp + k.fp + k.fn};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, f1_score_of);
}
