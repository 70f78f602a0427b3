/* steady.h - functions that every device rounds alike, and the draws that are made of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_STEADY_H
#define PLUGIN_TRANSFORMS_STEADY_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

/* Libraries differ in the last place of log, exp, sin and cos; these are sums and products in one order, whose
 * errors are below 1e-15. */

/* Of x > 0 that is normal: x = m 2^e with m from 3/4 to 3/2, and log m = 2 atanh((m - 1) / (m + 1)). */
TUTTI_SHARED double steady_log(double x)
{
    int64_t e = 0;
    for (; x >= 1.5; e++)
        x *= 0.5;
    for (; x < 0.75; e--)
        x *= 2.0;
    const double s = (x - 1.0) / (x + 1.0), square = s * s;
    double sum = 0.0;
    for (int k = 27; k > 0; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2.0 * s * sum + (double)e * 0.69314718055994530942;
}

/* 0 below -700; x at most 700. */
TUTTI_SHARED double steady_exp(double x)
{
    if (x < -700.0)
        return 0.0;
    const double whole = floor(x * 1.4426950408889634074 + 0.5);
    const double rest = (x - whole * 0.693145751953125) - whole * 1.42860682030941723212e-6;
    double sum = 1.0;
    for (int k = 16; k > 0; k--)
        sum = 1.0 + sum * rest / k;
    int64_t twos = (int64_t)whole;
    for (; twos > 0; twos--)
        sum *= 2.0;
    for (; twos < 0; twos++)
        sum *= 0.5;
    return sum;
}

/* Sine and cosine of an angle from -pi / 2 to pi / 2. */
TUTTI_SHARED double steady_sin(double x)
{
    double sum = 1.0;
    for (int k = 24; k > 0; k -= 2)
        sum = 1.0 - sum * x * x / (k * (k + 1));
    return sum * x;
}

TUTTI_SHARED double steady_cos(double x)
{
    double sum = 1.0;
    for (int k = 24; k > 0; k -= 2)
        sum = 1.0 - sum * x * x / (k * (k - 1));
    return sum;
}

/* A standard normal number by Box and Muller; of the turn's cosine, that of its distance from a half. */
TUTTI_SHARED double steady_normal(tutti_stream *r)
{
    const double u = 1.0 - tutti_stream_uniform(r);
    const double away = 2.0 * tutti_stream_uniform(r) - 1.0, size = away < 0.0 ? -away : away;
    const double pi = 3.14159265358979323846;
    return sqrt(-2.0 * steady_log(u)) *
           (size > 0.5 ? steady_cos((1.0 - size) * pi) : -steady_cos(size * pi));
}

/* As log_gamma_draw of common/beta.h: the logarithm of a draw from Gamma(shape, 1). */
TUTTI_SHARED double steady_log_gamma(tutti_stream *r, double shape)
{
    const double boost = shape < 1.0 ? steady_log(1.0 - tutti_stream_uniform(r)) / shape : 0.0;
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        const double x = steady_normal(r);
        const double root = 1.0 + c * x, v = root * root * root;
        if (v > 0.0 && steady_log(1.0 - tutti_stream_uniform(r)) <
                           0.5 * x * x + d - d * v + d * steady_log(v))
            return boost + steady_log(d * v);
    }
}

/* A draw from Beta(alpha, alpha). */
TUTTI_SHARED double steady_beta(tutti_stream *r, double alpha)
{
    const double a = steady_log_gamma(r, alpha), more = steady_log_gamma(r, alpha) - a;
    return more > 700.0 ? 0.0 : 1.0 / (1.0 + steady_exp(more));
}

#endif
