/* average_precision_area.h - the area of average_precision between two thresholds; after METRIC_NAME, for labels and classes alike. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AVERAGE_PRECISION_AREA_H
#define AVERAGE_PRECISION_AREA_H

#include "labels_curve.h"

/* What recall the lower threshold adds, times its precision. */
static double labels_area(curve_point lower, curve_point higher, int past)
{
    (void)past;
    return curve_share(lower.tp - higher.tp, lower.positives) *
           curve_share(lower.tp, lower.tp + lower.fp);
}

#endif
