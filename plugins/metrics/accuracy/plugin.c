/* plugin.c - accuracy: share of samples whose target is predicted, of all or averaged over classes. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "accuracy"
#include "../class_counts_plugin.h"

/* Of a class: how many of its samples are found. */
static class_ratio accuracy_of(class_count k)
{
    const class_ratio r = {k.tp, k.tp + k.fn};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, accuracy_of);
}
