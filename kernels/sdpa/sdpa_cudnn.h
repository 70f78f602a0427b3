/* sdpa_cudnn.h - attention and its gradient as graphs of cuDNN. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_CUDNN_H
#define KERNELS_SDPA_SDPA_CUDNN_H

#include "common/cuda/cudnn.h"
#include "sdpa/sdpa.h"

/* What the graphs read and write; the gradient's also DELTA and DQ_SUM, of F32, which are scratch. */
enum {
    SDPA_Q,
    SDPA_K,
    SDPA_V,
    SDPA_Y,
    SDPA_LSE, /* F32 */
    SDPA_DY,
    SDPA_DQ,
    SDPA_DK,
    SDPA_DV,
    SDPA_DELTA,  /* a number a query */
    SDPA_DQ_SUM, /* (B, H, Tq, D); zeros before it runs */
    SDPA_BIAS,   /* read by both, where there is one */
    SDPA_OPERANDS
};

typedef struct sdpa_cudnn {
    sdpa_shape s;  /* causal only where tq is tk */
    int32_t dtype; /* of all but SDPA_LSE, the bias and the scratch: TUTTI_BF16 or F16 */
    int32_t grad;
    int32_t bias; /* its dtype, that or TUTTI_F32; TUTTI_DTYPE_NONE: there is none */
} sdpa_cudnn;

/* `device` is NULL, or a finished description of the device to plan for.
 * Errors: UNSUPPORTED, NOMEM.  [control] */
TUTTI_NODISCARD tutti_status sdpa_cudnn_plan(const sdpa_cudnn *c, const cdnn *lib, void *device,
                                             cdnn_plan **ret_plan, tutti_error *err);

/* data[SDPA_Q ...]; without `grad` the first five and the bias.  [step] */
TUTTI_NODISCARD tutti_status sdpa_cudnn_run(const sdpa_cudnn *c, cdnn_plan *p, void *stream,
                                            void *const data[SDPA_OPERANDS], void *workspace);

#endif
