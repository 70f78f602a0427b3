/* accuracy_row.h - what a row adds to a share of right answers; after metric_plugin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCURACY_ROW_H
#define ACCURACY_ROW_H

#include "metric_plugin.h"

static void metric_row(const metric *m, const float *x, int64_t classes, metric_target target,
                       double *sums)
{
    const int64_t c = target.soft ? metric_argmax(target.soft, classes) : target.class_index;
    sums[0] += metric_rank(x, classes, c) == 0;
    sums[1] += 1.0;
}

#endif
