/* plugin.c - mean_squared_error: the mean of squared differences. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "mean_squared_error"
#define REGRESSION_SUMS 2
#include "../regression_plugin.h"

static void regression_add(double *sums, double x, double y)
{
    sums[0] += (x - y) * (x - y);
    sums[1] += 1.0;
}

static double regression_value(const regression *m)
{
    const double mean = m->sums[1] > 0.0 ? m->sums[0] / m->sums[1] : (double)NAN;
    return m->choice ? mean : sqrt(mean);
}
