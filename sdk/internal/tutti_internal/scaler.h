/* scaler.h - what a device keeps of a run's updates and of its loss scale. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_INTERNAL_SCALER_H
#define TUTTI_INTERNAL_SCALER_H

/* By place in that tensor of F64.  The loss scale is GradScaler's; only operations
 * that the host alone makes (kernels/optimizer_scalars) touch it. */
enum {
    TUTTI_SCALER_SCALE,
    TUTTI_SCALER_CLEAN,   /* updates since the scale's last change */
    TUTTI_SCALER_FOUND,   /* 1: a gradient of this step is not finite */
    TUTTI_SCALER_UPDATES, /* so far */
    TUTTI_SCALER_ON,      /* 0: there is no scale */
    TUTTI_SCALER_SKIPPED, /* 1: the last update was left out */
    TUTTI_SCALER_NUMBERS = 8,
    TUTTI_SCALER_INTERVAL = 2000 /* clean updates until the scale grows */
};

/* Gradients whose squares are one sum of the operation gradient_squares. */
enum { TUTTI_GRADIENT_PIECE = 16384 };

#endif
