/* sdpa_cudnn.h - attention and its gradient as graphs of cuDNN. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_CUDNN_H
#define KERNELS_SDPA_SDPA_CUDNN_H

#include "common/cuda/libraries/cudnn.h"
#include "sdpa/sdpa.h"

#include <stdbool.h>

/* What the graphs read and write.  DELTA, DQ_SUM and MASK are scratch, of one part of the samples. */
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
    SDPA_DELTA,  /* F32, a number a query */
    SDPA_DQ_SUM, /* F32 (part, H, Tq, D); zeros before it runs; of `any_order` alone */
    SDPA_BIAS,   /* read by both, where there is one */
    SDPA_MASK,   /* (part, H, Tq, Tk): 1 where a probability is kept, else 0; with dropout */
    SDPA_OPERANDS
};

typedef struct sdpa_cudnn {
    sdpa_shape s;  /* causal only where tq is tk */
    int32_t dtype; /* of all but SDPA_LSE, the bias and the scratch: TUTTI_BF16 or F16 */
    int32_t grad;
    int32_t bias; /* its dtype, that or TUTTI_F32; TUTTI_DTYPE_NONE: there is none */
    int32_t
        any_order; /* of the gradient: blocks add to dq as they come, which takes less memory */
    int64_t part;  /* samples at a time; s.batch is a multiple */
    uint64_t
        workspace; /* bytes of device memory for what a part's samples take besides their operands */
} sdpa_cudnn;

/* Bytes that a sample takes besides its operands: of the mask, and of the products that a gradient with
 * an order of its own keeps until it adds up dq. */
uint64_t sdpa_cudnn_mask_bytes(const sdpa_cudnn *c);
uint64_t sdpa_cudnn_kept_bytes(const sdpa_cudnn *c);
/* The most samples that share c->workspace bytes of that; 0: there is not enough for one. */
int64_t sdpa_cudnn_part(const sdpa_cudnn *c);
/* That workspace on a device with so much memory: a fortieth of it, and at least 256 MiB. */
uint64_t sdpa_cudnn_workspace(uint64_t memory);

/* Whether that version of cuDNN (cudnnGetVersion: 91900 is 9.19.0) is known to compute it rightly.  9.10.0
 * and 9.10.1 give wrong results in BF16, and gradients up to 9.15.0 where Tk is no multiple of 128; NVIDIA's
 * front end refuses these, or masks them. */
bool sdpa_cudnn_allows(const sdpa_cudnn *c, uint64_t version);

/* `device` is NULL, or a finished description of the device to plan for.
 * Errors: UNSUPPORTED, NOMEM.  [control] */
TUTTI_NODISCARD tutti_status sdpa_cudnn_plan(const sdpa_cudnn *c, const cdnn *lib, void *device,
                                             cdnn_plan **ret_plan, tutti_error *err);

/* Samples first to first + part - 1 of data[SDPA_Q ...]; without `grad` the first five, bias and mask.
 * [step] */
TUTTI_NODISCARD tutti_status sdpa_cudnn_run(const sdpa_cudnn *c, cdnn_plan *p, void *stream,
                                            void *const data[SDPA_OPERANDS], void *workspace,
                                            int64_t first);

#endif
