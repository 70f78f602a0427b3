/* labels_curve.h - the shell of a metric over labels that is an area under a curve over thresholds of equal distance.
 * The including file defines METRIC_NAME first and labels_area after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_CURVE_H
#define LABELS_CURVE_H

#include "labels_plugin.h"

/* What lies at or above a threshold, and of how much. */
typedef struct curve_point {
    double tp, fp, positives, negatives;
} curve_point;

/* The plugin's own: the area between a threshold's point and that of the next higher one; past the highest, `higher`
 * has no tp and fp. */
static double labels_area(curve_point lower, curve_point higher, int past);

/* Of a label: ones by how many thresholds lie at or below their probability, 0 to `steps`; then zeros so. */
static int64_t labels_size(const labels *m)
{
    return 2 * (m->steps + 1);
}

/* Threshold `k` of those from 0 to 1, in f32 as torch.linspace has them: from both ends. */
static inline float curve_threshold(const labels *m, int64_t k)
{
    const float step = 1.0f / (float)(m->steps - 1);
    return k < m->steps / 2 ? (float)k * step : 1.0f - (float)(m->steps - 1 - k) * step;
}

static void labels_add(const labels *m, double *sums, float p, int positive)
{
    int64_t below = p >= 0.0f ? (int64_t)(p * (float)(m->steps - 1)) : 0;
    while (below > 0 && !(p >= curve_threshold(m, below - 1)))
        below--;
    while (below < m->steps && p >= curve_threshold(m, below))
        below++;
    sums[below + (positive ? 0 : m->steps + 1)] += 1.0;
}

static double labels_ones(const labels *m, const double *sums)
{
    double n = 0.0;
    for (int64_t k = 0; k <= m->steps; k++)
        n += sums[k];
    return n;
}

static double labels_value(const labels *m, const double *sums)
{
    const double *zeros = sums + m->steps + 1;
    curve_point higher = {.positives = labels_ones(m, sums),
                          .negatives = labels_ones(m, zeros)};
    double area = 0.0;
    for (int64_t k = m->steps; k > 0; k--) {
        curve_point lower = higher;
        lower.tp += sums[k];
        lower.fp += zeros[k];
        area += labels_area(lower, higher, k == m->steps);
        higher = lower;
    }
    return area;
}

static inline double curve_share(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

#endif
