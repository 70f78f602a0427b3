/* plugin.c - jaccard_index: tp / (tp + fp + fn). */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "jaccard_index"
#include "../class_counts_plugin.h"

static class_ratio jaccard_index_of(class_count k)
{
    const class_ratio r = {k.tp, k.tp + k.fp + k.fn};
    return r;
}

static double class_counts_metric(const class_counts *m)
{
    return class_average(m, jaccard_index_of);
}
