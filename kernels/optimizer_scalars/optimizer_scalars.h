/* optimizer_scalars.h - the numbers around an update: the loss scale, and what optimizers read; for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_OPTIMIZER_SCALARS_H
#define KERNELS_OPTIMIZER_SCALARS_H

#include "tutti/optimizer.h"
#include "tutti/rng.h" /* TUTTI_HD */
#include "tutti_internal/scaler.h"

#include <math.h>

/* What gradients are multiplied by to take the scale back. */
TUTTI_HD float optimizer_scalars_unscale(const double *scaler)
{
    return (float)(1.0 / scaler[TUTTI_SCALER_SCALE]);
}

TUTTI_HD float optimizer_scalars_loss_scale(const double *scaler, double weight)
{
    return (float)(weight *
                   (scaler[TUTTI_SCALER_ON] != 0.0 ? scaler[TUTTI_SCALER_SCALE] : 1.0));
}

/* Infinite or NaN: an exponent of ones, which no fast maths can hide. */
TUTTI_HD int optimizer_scalars_is_bad(uint32_t bits)
{
    return (bits & 0x7F800000u) == 0x7F800000u;
}

/* GradScaler's update: halved where something was found, doubled after enough clean ones. */
TUTTI_HD void optimizer_scalars_rescale(double *scaler, int found)
{
    if (found) {
        scaler[TUTTI_SCALER_SCALE] *= 0.5;
        scaler[TUTTI_SCALER_CLEAN] = 0.0;
    } else if (++scaler[TUTTI_SCALER_CLEAN] >= TUTTI_SCALER_INTERVAL) {
        if (2.0 * scaler[TUTTI_SCALER_SCALE] < 0x1p128) /* f32's range */
            scaler[TUTTI_SCALER_SCALE] *= 2.0;
        scaler[TUTTI_SCALER_CLEAN] = 0.0;
    }
}

/* The numbers of an update for `groups` groups, of which there may be none: then the step ends without
 * one.  The factor is used up. */
TUTTI_HD void optimizer_scalars_next(const double *lrs, float *factor, double *scaler,
                                     double *numbers, int64_t groups)
{
    const int on = scaler[TUTTI_SCALER_ON] != 0.0;
    const int found = on && scaler[TUTTI_SCALER_FOUND] != 0.0;
    if (groups && !found)
        scaler[TUTTI_SCALER_UPDATES] += 1.0;
    for (int64_t k = 0; k < groups; k++) {
        double *now = numbers + k * TUTTI_UPDATE_NUMBERS;
        now[TUTTI_UPDATE_LR] = lrs[k];
        now[TUTTI_UPDATE_STEP] = scaler[TUTTI_SCALER_UPDATES];
        now[TUTTI_UPDATE_FACTOR] = (double)*factor;
        now[TUTTI_UPDATE_SKIP] = (double)found;
    }
    *factor = 1.0f;
    if (on)
        optimizer_scalars_rescale(scaler, found);
    scaler[TUTTI_SCALER_SKIPPED] = (double)found;
    scaler[TUTTI_SCALER_FOUND] = 0.0;
}

/* ---- the norm of gradients: pieces of N numbers, each in LANES sums, which are then paired; so are the pieces ---- */

enum { GRADIENT_PIECE = TUTTI_GRADIENT_PIECE, GRADIENT_LANES = 256 };

TUTTI_HD int64_t optimizer_scalars_pieces(int64_t n)
{
    return (n + GRADIENT_PIECE - 1) / GRADIENT_PIECE;
}

/* The product of two numbers of f32 has no rounding in f64. */
TUTTI_HD double optimizer_scalars_square(float x)
{
    return (double)x * (double)x;
}

/* What an update reads of the sum of all squares. */
TUTTI_HD void optimizer_scalars_norm(double sum, double *numbers, int64_t groups)
{
    for (int64_t k = 0; k < groups; k++) {
        double *now = numbers + k * TUTTI_UPDATE_NUMBERS;
        now[TUTTI_UPDATE_NORM] = sqrt(sum) * fabs(now[TUTTI_UPDATE_FACTOR]);
    }
}

#endif
