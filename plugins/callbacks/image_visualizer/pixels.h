/* pixels.h - columns of a batch as images and classes of pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGE_VISUALIZER_PIXELS_H
#define IMAGE_VISUALIZER_PIXELS_H

#include "tutti/tensor.h"

#include <stdbool.h>

/* Whether it is images: (N, H, W), or (N, H, W, C) with 1, 3 or 4 channels, none of them 0, F32 or U8. */
bool pixels_are(const tutti_desc *d);

/* The first `n` images as a tensor (n, H, W, C) of the data itself, or, where a number leaves 0 to 1, of a copy, in
 * *ret_copy, that the caller frees: such an image is stretched so that its least number is 0 and its greatest 1.
 * Errors: E_NOMEM. */
TUTTI_NODISCARD tutti_status pixels_take(const tutti_tensor *column, int64_t n,
                                         tutti_tensor *ret_images, float **ret_copy,
                                         tutti_error *err);

/* The class of each of the first n images, below 0 as -1, into ret.  Of outputs (N, K) F32 the likeliest, of a target (N)
 * I32 its classes, (N, K) F32 as outputs.  E_SHAPE: it is neither. */
TUTTI_NODISCARD tutti_status pixels_image_classes(const tutti_tensor *t, int64_t n,
                                                  int32_t *ret, tutti_error *err);

/* (n, H, W) classes.  Of outputs (N, H, W, K) F32 the likeliest; one number for a pixel is a logit of class 1.  Of a target
 * (N, H, W) I32 its classes, those below 0 as `classes`; (N, H, W, K) F32 as outputs.  NULL with `err`: no memory, or
 * E_SHAPE it is neither for images of `h` by `w`. */
int32_t *pixels_classes(const tutti_tensor *t, int64_t n, int64_t h, int64_t w, int32_t classes,
                        tutti_error *err);

#endif
