/* squares_sum.h - how squares are summed, once, for every device: in 256 lanes, which are then paired. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SQUARES_SUM_H
#define PLUGIN_SQUARES_SUM_H

#include "tutti/cuda_code.h"

enum { SQUARES_LANES = 256, SQUARES_PIECE = 16384 };

TUTTI_SHARED double squares_term(float x, float less)
{
    const double v = (double)x - (double)less;
    return v * v;
}

#ifndef __cplusplus /* the CPU's side */

/* lanes[0] += lanes[1] + ...: neighbours half the rest away, as a GPU's threads do it. */
static inline double squares_pair(double *lanes)
{
    for (int half = SQUARES_LANES / 2; half > 0; half /= 2)
        for (int t = 0; t < half; t++)
            lanes[t] += lanes[t + half];
    return lanes[0];
}

static inline double squares_of(const float *x, const float *less, int64_t n)
{
    double lanes[SQUARES_LANES] = {0.0};
    int64_t k = 0;
    for (; k + SQUARES_LANES <= n && !less; k += SQUARES_LANES)
        for (int t = 0; t < SQUARES_LANES; t++)
            lanes[t] += squares_term(x[k + t], 0.0f);
    for (; k < n; k++)
        lanes[k % SQUARES_LANES] += squares_term(x[k], less ? less[k] : 0.0f);
    return squares_pair(lanes);
}

static inline double squares_total(const double *parts, int64_t n)
{
    double lanes[SQUARES_LANES] = {0.0};
    for (int64_t k = 0; k < n; k++)
        lanes[k % SQUARES_LANES] += parts[k];
    return squares_pair(lanes);
}

#endif
#endif
