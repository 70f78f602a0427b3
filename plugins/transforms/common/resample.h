/* resample.h - images scaled by separable filters, as Pillow scales them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_RESAMPLE_H
#define PLUGIN_TRANSFORMS_RESAMPLE_H

#include "tutti/isa.h"
#include "tutti/tensor.h"

typedef enum resample_filter { RESAMPLE_BILINEAR, RESAMPLE_BICUBIC } resample_filter;

/* A window of an image (H, W, C), u8 or f32. */
typedef struct resample_window {
    const void *data; /* its first pixel */
    int64_t row;      /* values from a row to the next */
    int64_t height;
    int64_t width;
    int64_t channels;
    int32_t dtype;
    int32_t reserved;
} resample_window;

/* The window [top, top + height) x [left, left + width) of an image. */
static inline resample_window resample_window_of(const tutti_tensor *t, int64_t top,
                                                 int64_t left, int64_t height, int64_t width)
{
    const int64_t at = (top * t->desc.dim[1] + left) * t->desc.dim[2];
    const resample_window w = {(const char *)t->data +
                                   (uint64_t)at * tutti_dtype_size(t->desc.dtype),
                               t->desc.dim[1] * t->desc.dim[2],
                               height,
                               width,
                               t->desc.dim[2],
                               t->desc.dtype,
                               0};
    return w;
}

/* Scales the window to (height, width) in `to`.  The support of the filter is scaled by the factor where the image
 * shrinks (antialiasing); nothing outside the window counts.  u8: Pillow's fixed-point numbers, to the
 * bit; f32: the same in floating point.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status resample(const resample_window *from, int64_t height,
                                      int64_t width, resample_filter filter, void *to,
                                      tutti_error *err);
TUTTI_ISA_VARIANTS(resample);

/* The same without memory of its own where there is none, pixel by pixel.  [any] */
void resample_always(const resample_window *from, int64_t height, int64_t width,
                     resample_filter filter, void *to);
TUTTI_ISA_VARIANTS(resample_always);

#endif
