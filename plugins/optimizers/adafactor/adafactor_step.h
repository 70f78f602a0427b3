/* adafactor_step.h - what of the step is the same on every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAFACTOR_STEP_H
#define ADAFACTOR_STEP_H

#include "tutti/cuda_code.h"

#include <math.h>
#include <stdint.h>

/* Elements of a part, but for rows longer than that: a part is of whole rows. */
enum { ADAFACTOR_PART = 16384 };

/* The settings, as they go to the kernels. */
typedef struct adafactor_rule {
    double beta2_decay;
    double eps1;
    double eps2;
    double d;
    double weight_decay;
} adafactor_rule;

/* A weight as `batches` matrices of `rows` by `cols`, its last two dimensions; a vector is one row, and
 * is not factored: its row variance has a number for each of its elements. */
typedef struct adafactor_shape {
    int64_t batches;
    int64_t rows; /* of a matrix */
    int64_t cols;
    int64_t span;  /* rows of a part */
    int64_t parts; /* of all batches' rows */
    int32_t factored;
    int32_t reserved;
} adafactor_shape;

/* Coefficients of one update; a gradient is g times factor. */
typedef struct adafactor_step {
    double take; /* of new squares, in their averages: t ^ beta2_decay */
    double rho;  /* the most of the rate */
    double eps1;
    double eps2;
    double d;
    float shrink; /* of the weight */
    float factor;
} adafactor_step;

TUTTI_SHARED adafactor_step adafactor_at(adafactor_rule r, double lr, double step,
                                         double factor)
{
    const double t = step < 1.0 ? 1.0 : step, most = 1.0 / sqrt(t);
    adafactor_step k;
    k.take = pow(t, r.beta2_decay);
    k.rho = lr < most ? lr : most;
    k.eps1 = r.eps1;
    k.eps2 = r.eps2;
    k.d = r.d;
    k.shrink = (float)(1.0 - lr * r.weight_decay);
    k.factor = (float)factor;
    return k;
}

/* An average goes to `now` by its share. */
TUTTI_SHARED float adafactor_average(float average, double now, adafactor_step k)
{
    return (float)((double)average + k.take * (now - (double)average));
}

/* The mean of a matrix' rows, as a divisor. */
TUTTI_SHARED double adafactor_mean(double sum, int64_t rows, adafactor_step k)
{
    const double mean = sum / (double)rows;
    return mean > k.eps1 ? mean : k.eps1;
}

/* One element of the step before its length is known; `variance` is its estimate. */
TUTTI_SHARED float adafactor_direction(float g, float variance, adafactor_step k)
{
    const float least = (float)(k.eps1 * k.eps1);
    return k.factor * g / sqrtf(variance > least ? variance : least);
}

/* What the direction is multiplied by, from the sums of squares of n weights and of their directions. */
TUTTI_SHARED float adafactor_rate(double of_w, double of_step, int64_t n, adafactor_step k)
{
    const double size = sqrt(of_w / (double)n), length = sqrt(of_step / (double)n) / k.d;
    const double alpha = (size > k.eps2 ? size : k.eps2) * k.rho;
    return (float)(alpha / (length > 1.0 ? length : 1.0));
}

#endif
