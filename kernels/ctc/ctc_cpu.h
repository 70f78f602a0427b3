/* ctc_cpu.h - the loss and its gradient on the CPU, a sample at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CTC_CTC_CPU_H
#define KERNELS_CTC_CTC_CPU_H

#include "ctc/ctc.h"

/* One sample: logits z (T, N) as f32 or f64, one of which is NULL; its `length` classes y; the steps that count. */
typedef struct ctc_sample {
    const float *z;
    const double *z64;
    const int64_t *y;
    int64_t length, steps;
} ctc_sample;

/* The loss; `workspace` has ctc_workspace numbers. */
double ctc_sample_loss(const ctc_shape *s, const ctc_sample *x, double *workspace);

/* The same, and the gradient times dloss into dz or dz64 (T, N), one of which is NULL. */
void ctc_sample_grad(const ctc_shape *s, const ctc_sample *x, double dloss, double *workspace,
                     float *dz, double *dz64);

#endif
