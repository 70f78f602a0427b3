/* blur.h - a field of numbers blurred by a Gaussian, as torchvision blurs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_BLUR_H
#define PLUGIN_TRANSFORMS_BLUR_H

#include <stdint.h>

enum { BLUR_LARGEST = 255 };

/* Along x, along y: a kernel of `size` numbers, odd and at most BLUR_LARGEST, and its standard deviation, above 0. */
typedef struct blur_kernel {
    int64_t size[2];
    double sigma[2];
} blur_kernel;

/* f32 (h, w, c) in place, mirrored beyond its edges without the outermost number; `scratch` has room for it.  Sums are f64.
 * Sides are above half of the kernel's. */
void blur(float *x, int64_t h, int64_t w, int64_t c, const blur_kernel *k, float *scratch);

#endif
