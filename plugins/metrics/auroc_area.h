/* auroc_area.h - the area of auroc between two thresholds; after METRIC_NAME, for labels and classes alike. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUROC_AREA_H
#define AUROC_AREA_H

#include "labels_curve.h"

/* The trapezium between two points of (fp / negatives, tp / positives); past the highest threshold there is none. */
static double labels_area(curve_point lower, curve_point higher, int past)
{
    const double width = curve_share(lower.fp - higher.fp, lower.negatives);
    const double height = curve_share(lower.tp + higher.tp, lower.positives);
    return past ? 0.0 : 0.5 * width * height;
}

#endif
