/* plugin.c - precision: tp / (tp + fp). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "precision"
#include "../class_counts_plugin.h"

static class_ratio precision_of(class_count k)
{
    const class_ratio r = {k.tp, k.tp + k.fp};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, precision_of);
}
