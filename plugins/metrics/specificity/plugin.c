/* plugin.c - specificity: tn / (tn + fp). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "specificity"
#include "../class_counts_plugin.h"

static class_ratio specificity_of(class_count k)
{
    const class_ratio r = {k.tn, k.tn + k.fp};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, specificity_of);
}
