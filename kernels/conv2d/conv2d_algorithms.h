/* conv2d_algorithms.h - algorithms of a convolution that are made of GEMMs and of other convolutions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_ALGORITHMS_H
#define KERNELS_CONV2D_CONV2D_ALGORITHMS_H

#include "common/dnnl.h"
#include "conv2d/conv2d.h"

/* Whether this CPU has convolutions of bf16: with AVX512_BF16, and on 64-bit ARM with FEAT_BF16. */
int conv2d_bf16_here(void);

/* How the three tensors are stored, F32 or `factor` each.  `factor`: BF16 or F16, to which factors are rounded where they
 * are F32; 0: everything is F32.  Of F16 there are products alone. */
typedef struct conv2d_dtypes {
    int32_t x, w, y;
    int32_t factor;
} conv2d_dtypes;

/* The three tensors as oneDNN reads them: NHWC images told as N C H W, and OHWI weights told as
 * [G] O I KH KW, whose layout it may choose because they are small. */
dnn_tensor conv2d_image(int64_t b, int64_t h, int64_t w, int64_t c);
dnn_tensor conv2d_weights(const conv2d_geometry *g);

/* A call of one thread or several for `g`, without bias. */
dnn_call conv2d_call(int kind, const conv2d_geometry *g, const conv2d_dtypes *t,
                     int32_t threads, int32_t algorithm);

/* A convolution of single pixels, without a border, as a product of matrices. */
typedef struct conv2d_1x1 conv2d_1x1;

int conv2d_1x1_fit(const conv2d_geometry *g);
/* E_UNSUPPORTED where common/gemm.h has nothing for this CPU. */
tutti_status conv2d_1x1_create(int32_t kind, const conv2d_geometry *g, const conv2d_dtypes *t,
                               int32_t threads, conv2d_1x1 **ret, uint64_t *ret_scratch,
                               tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
tutti_status conv2d_1x1_run(const conv2d_1x1 *s, const void *in0, const void *in1,
                            const float *bias, void *out, void *scratch);
void conv2d_1x1_destroy(conv2d_1x1 *s); /* NULL is fine */

/* A convolution whose windows lie side by side, without a border, as a product of matrices: of patches, which are x in another
 * order. */
typedef struct conv2d_patches conv2d_patches;

int conv2d_patches_fit(const conv2d_geometry *g);
/* E_UNSUPPORTED where common/gemm.h has nothing for this CPU. */
tutti_status conv2d_patches_create(int32_t kind, const conv2d_geometry *g,
                                   const conv2d_dtypes *t, int32_t threads,
                                   conv2d_patches **ret, uint64_t *ret_scratch,
                                   tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
tutti_status conv2d_patches_run(const conv2d_patches *s, const void *in0, const void *in1,
                                const float *bias, void *out, void *scratch);
void conv2d_patches_destroy(conv2d_patches *s); /* NULL is fine */

/* Whether a convolution of single pixels leaves some out. */
int conv2d_skips(const conv2d_geometry *g);
/* Row `row`, counted over all images, of y(b, i, j) = x(b, i sh, j sw), elements of `dtype`. */
void conv2d_pick(const conv2d_geometry *g, int32_t dtype, int64_t row, const void *x, void *y);
/* x(b, i sh, j sw) = y(b, i, j), zeros elsewhere. */
void conv2d_spread(const conv2d_geometry *g, int32_t dtype, int32_t threads, const void *y,
                   void *x);

/* Bytes of so many elements, in multiples of 64. */
uint64_t conv2d_align(int32_t dtype, int64_t n);

/* dx as a convolution of dy with flipped filters: with stride 1, or of single pixels,
 * whose results are then put between zeros. */
typedef struct conv2d_dgrad_flipped conv2d_dgrad_flipped;

int conv2d_dgrad_flipped_fits(const conv2d_geometry *g);
tutti_status conv2d_dgrad_flipped_create(const conv2d_geometry *g, int32_t threads,
                                         conv2d_dgrad_flipped **ret, uint64_t *ret_scratch,
                                         tutti_error *err);
tutti_status conv2d_dgrad_flipped_run(const conv2d_dgrad_flipped *t, const float *dy,
                                      const float *w, float *dx, void *scratch);
void conv2d_dgrad_flipped_destroy(conv2d_dgrad_flipped *t); /* NULL is fine */

/* 3 x 3 convolutions and their gradients with products of bf16 by Winograd's F(2 x 2, 3 x 3); `dtypes.factor` is BF16.
 * Transformed factors are rounded to bf16: errors are some 1.7 times those of rounding both factors.  Results
 * are the same with any number of threads. */
typedef struct conv2d_winograd_state conv2d_winograd_state;

int conv2d_winograd_fits(const conv2d_geometry *g);
tutti_status conv2d_winograd_create(int32_t kind, const conv2d_geometry *g,
                                    const conv2d_dtypes *t, int32_t threads,
                                    conv2d_winograd_state **ret, uint64_t *ret_scratch,
                                    tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
void conv2d_winograd_run(const conv2d_winograd_state *s, const void *in0, const void *in1,
                         const float *bias, void *out, void *scratch);
void conv2d_winograd_destroy(conv2d_winograd_state *s); /* NULL is fine */

/* dw (F32) of windows larger than a pixel with products of bf16, for every tap a sum over pixels, by packed panels;
 * `dtypes.factor` is BF16.  Results are the same with any number of threads. */
typedef struct conv2d_wgrad_pairs conv2d_wgrad_pairs;

int conv2d_wgrad_pairs_fit(const conv2d_geometry *g);
/* E_UNSUPPORTED for a dw that is not F32. */
tutti_status conv2d_wgrad_pairs_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                       int32_t threads, conv2d_wgrad_pairs **ret,
                                       uint64_t *ret_scratch, tutti_error *err);
void conv2d_wgrad_pairs_run(const conv2d_wgrad_pairs *s, const void *x, const void *dy,
                            float *dw, void *scratch);
void conv2d_wgrad_pairs_destroy(conv2d_wgrad_pairs *s); /* NULL is fine */

/* A convolution and its gradient by the input, with products of bf16 by AMX: sums over taps and channels of lines that
 * lie packed once for all taps; `dtypes.factor` is BF16.  Results are the same with any number of
 * threads. */
typedef struct conv2d_direct_state conv2d_direct_state;

int conv2d_direct_fits(int32_t kind, const conv2d_geometry *g);
tutti_status conv2d_direct_create(int32_t kind, const conv2d_geometry *g,
                                  const conv2d_dtypes *t, int32_t threads,
                                  conv2d_direct_state **ret, uint64_t *ret_scratch,
                                  tutti_error *err);
/* What is read, filters, and what is written; bias may be NULL. */
void conv2d_direct_run(const conv2d_direct_state *s, const void *x, const void *w,
                       const float *bias, void *y, void *scratch);
void conv2d_direct_destroy(conv2d_direct_state *s); /* NULL is fine */

/* dw (F32) of windows larger than a pixel in the same way: sums over positions for every tap. */
typedef struct conv2d_wgrad_direct conv2d_wgrad_direct;

int conv2d_wgrad_direct_fits(const conv2d_geometry *g);
/* E_UNSUPPORTED for a dw that is not F32. */
tutti_status conv2d_wgrad_direct_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                        int32_t threads, conv2d_wgrad_direct **ret,
                                        uint64_t *ret_scratch, tutti_error *err);
void conv2d_wgrad_direct_run(const conv2d_wgrad_direct *s, const void *x, const void *dy,
                             float *dw, void *scratch);
void conv2d_wgrad_direct_destroy(conv2d_wgrad_direct *s); /* NULL is fine */

/* Whether this CPU has the registers for both. */
int conv2d_direct_here(void);

/* dw as a sum, in a fixed order, of what each thread alone makes of its images: nobody waits for
 * others but once. */
typedef struct conv2d_wgrad_per_thread conv2d_wgrad_per_thread;

int conv2d_wgrad_per_thread_fit(const conv2d_geometry *g, int32_t threads);
tutti_status conv2d_wgrad_per_thread_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                            int32_t threads, conv2d_wgrad_per_thread **ret,
                                            uint64_t *ret_scratch, tutti_error *err);
tutti_status conv2d_wgrad_per_thread_run(const conv2d_wgrad_per_thread *s, const void *x,
                                         const void *dy, float *dw, void *scratch);
void conv2d_wgrad_per_thread_destroy(conv2d_wgrad_per_thread *s); /* NULL is fine */

/* Any convolution in one group, and its gradients, as products of patches that are cut while they are packed; F32 and
 * BF16.  `u`: a micro-kernel, NULL for this CPU's. */
typedef struct conv2d_implicit conv2d_implicit;
struct gemm_microkernel;

int conv2d_implicit_fits(const conv2d_geometry *g);
/* E_UNSUPPORTED where common/gemm.h has nothing for this CPU. */
tutti_status conv2d_implicit_create(int32_t kind, const conv2d_geometry *g,
                                    const conv2d_dtypes *t, int32_t threads,
                                    const struct gemm_microkernel *u, conv2d_implicit **ret,
                                    uint64_t *ret_scratch, tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
void conv2d_implicit_run(const conv2d_implicit *s, const void *in0, const void *in1,
                         const float *bias, void *out, void *scratch);
void conv2d_implicit_destroy(conv2d_implicit *s); /* NULL is fine */

/* Any convolution in one group as products of patches: the same bits on every CPU that has AVX2 and FMA and with any
 * number of threads.  F32. */
typedef struct conv2d_im2col conv2d_im2col;

int conv2d_im2col_fits(const conv2d_geometry *g);
/* E_UNSUPPORTED where common/gemm.h has nothing for this CPU. */
tutti_status conv2d_im2col_create(int32_t kind, const conv2d_geometry *g, int32_t threads,
                                  conv2d_im2col **ret, uint64_t *ret_scratch, tutti_error *err);
/* The operation's inputs and its output; bias may be NULL. */
void conv2d_im2col_run(const conv2d_im2col *s, const float *in0, const float *in1,
                       const float *bias, float *out, void *scratch);
void conv2d_im2col_destroy(conv2d_im2col *s); /* NULL is fine */

#endif
