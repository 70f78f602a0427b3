/* plugin.c - r2_score: the share of the targets' variance that outputs explain. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "r2_score"
#define REGRESSION_SUMS 4
#include "../regression_plugin.h"

enum { COUNT, TARGETS, SQUARES, DIFFERENCES }; /* the sums */

static void regression_add(double *sums, double x, double y)
{
    sums[COUNT] += 1.0;
    sums[TARGETS] += y;
    sums[SQUARES] += y * y;
    sums[DIFFERENCES] += (x - y) * (x - y);
}

/* 1 - what is left of the squares around the mean; of equal targets, 1 where nothing is left and 0 elsewhere. */
static double r2_of(const double *sums, double *ret_total)
{
    const double total = sums[SQUARES] - sums[TARGETS] * sums[TARGETS] / sums[COUNT];
    *ret_total = total;
    if (total > 1e-12 * sums[SQUARES])
        return 1.0 - sums[DIFFERENCES] / total;
    return sums[DIFFERENCES] > 1e-12 * sums[SQUARES] ? 0.0 : 1.0;
}

static double regression_value(const regression *m)
{
    const double n = m->sums[COUNT], k = (double)m->adjusted;
    double value = 0.0, weights = 0.0;
    if (n < 2.0)
        return (double)NAN;
    for (int64_t o = 0; o < m->outputs; o++) {
        double total;
        const double r2 = r2_of(m->sums + o * REGRESSION_SUMS, &total);
        const double weight = m->choice ? total : 1.0; /* variance_weighted */
        value += weight * r2;
        weights += weight;
    }
    value /= weights;
    return m->adjusted && n - 1.0 > k ? 1.0 - (1.0 - value) * (n - 1.0) / (n - k - 1.0) : value;
}
