/* plugin.c - pearson_corrcoef: the linear correlation of outputs and targets. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "pearson_corrcoef"
#define REGRESSION_SUMS 6
#include "../regression_plugin.h"

enum { COUNT, X, Y, XX, YY, XY }; /* the sums */

static void regression_add(double *sums, double x, double y)
{
    sums[COUNT] += 1.0;
    sums[X] += x;
    sums[Y] += y;
    sums[XX] += x * x;
    sums[YY] += y * y;
    sums[XY] += x * y;
}

/* Covariance over both deviations; rounding may leave a variance a little below 0. */
static double pearson_of(const double *sums)
{
    const double n = sums[COUNT];
    const double xx = sums[XX] - sums[X] * sums[X] / n, yy = sums[YY] - sums[Y] * sums[Y] / n;
    const double r = (sums[XY] - sums[X] * sums[Y] / n) / sqrt(fmax(xx, 0.0) * fmax(yy, 0.0));
    return r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
}

static double regression_value(const regression *m)
{
    double value = 0.0;
    if (m->sums[COUNT] < 2.0)
        return (double)NAN;
    for (int64_t o = 0; o < m->outputs; o++)
        value += pearson_of(m->sums + o * REGRESSION_SUMS);
    return value / (double)m->outputs;
}
