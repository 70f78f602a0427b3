/* plugin.c - recall: tp / (tp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "recall"
#include "../class_counts_plugin.h"

static class_ratio recall_of(class_count k)
{
    const class_ratio r = {k.tp, k.tp + k.fn};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, recall_of);
}
