/* plugin.c - multilabel_average_precision: the area under a curve over thresholds. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "multilabel_average_precision"
#include "../labels_curve.h"

/* What recall the lower threshold adds, times its precision. */
static double labels_area(curve_point lower, curve_point higher, int past)
{
    (void)past;
    return curve_share(lower.tp - higher.tp, lower.positives) *
           curve_share(lower.tp, lower.tp + lower.fp);
}
