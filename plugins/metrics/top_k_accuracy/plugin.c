/* plugin.c - top_k_accuracy: share of samples whose target is among the k largest logits. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "top_k_accuracy"
#include "../metric_plugin.h"

static void metric_row(const metric *m, const float *x, int64_t classes, metric_target target,
                       double *sums)
{
    const int64_t c = target.soft ? metric_argmax(target.soft, classes) : target.class_index;
    sums[0] += metric_rank(x, classes, c) < m->k;
    sums[1] += 1.0;
}
