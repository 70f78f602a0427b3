/* conv2d_cudnn.h - the three convolutions as graphs of cuDNN. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_CONV2D_CONV2D_CUDNN_H
#define KERNELS_CONV2D_CONV2D_CUDNN_H

#include "common/cuda/libraries/cudnn.h"
#include "conv2d/conv2d_geometry.h"

enum { CONV2D_FORWARD, CONV2D_GRAD_INPUT, CONV2D_GRAD_WEIGHT };
enum { CONV2D_X, CONV2D_W, CONV2D_Y, CONV2D_BIAS, CONV2D_OPERANDS }; /* or their gradients */

/* A convolution as the library is to do it: of x, w and y it reads two and writes one. */
typedef struct conv2d_cudnn {
    conv2d_geometry g;
    int32_t kind;  /* CONV2D_FORWARD ... */
    int32_t dtype; /* of x, w and y: TUTTI_F32, BF16 or F16 */
    int32_t tf32;  /* factors of F32 may be rounded to TF32 */
    int32_t bias;  /* 1: of CONV2D_FORWARD, in F32; added before anything is rounded */
    int32_t added; /* 1: to what the result holds already; without a bias */
} conv2d_cudnn;

/* How an engine is found. */
typedef struct conv2d_cudnn_by {
    const tutti_cuda_v1 *cuda; /* NULL, or where engines are measured */
    void *device;              /* NULL, or a finished description of the device to plan for */
    const char *name;          /* NULL, or the engine's, as cdnn_plan_name has it */
} conv2d_cudnn_by;

/* `by` with nothing in it: the first engine that serves.  Sums are f32.
 * Errors: UNSUPPORTED, NOMEM.  [control] */
TUTTI_NODISCARD tutti_status conv2d_cudnn_plan(const conv2d_cudnn *c, const cdnn *lib,
                                               const conv2d_cudnn_by *by, cdnn_plan **ret_plan,
                                               tutti_error *err);

/* data: x, w, y and, where there is one, the bias.  [step] */
TUTTI_NODISCARD tutti_status conv2d_cudnn_run(const conv2d_cudnn *c, cdnn_plan *p, void *stream,
                                              void *const data[CONV2D_OPERANDS],
                                              void *workspace);

#endif
