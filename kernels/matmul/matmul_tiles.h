/* matmul_tiles.h - products by our GEMM: how the kernel on a CPU keeps one, and runs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_TILES_H
#define KERNELS_MATMUL_MATMUL_TILES_H

#include "common/dnnl.h"
#include "common/gemm.h"
#include "matmul/matmul.h"

/* What the kernel on a CPU has prepared. */
typedef struct matmul_state {
    matmul_shape shape;
    dnn *big;            /* NULL: another one of these, or matmul_small does it */
    matmul_split *split; /* NULL: not so */
    gemm tiles;          /* threads 0: not so */
    const float
        *kept_b;    /* b as `tiles` reads it, which the host keeps; NULL: each run packs it */
    int64_t gemm;   /* dnn_gemm_run does it */
    int64_t batch;  /* products that one run of `big` does */
    int64_t packed; /* floats of one thread's packed matrix, bytes for `tiles` */
    int32_t bias;   /* the third input is one; for `tiles` F32 or of 16 bits */
    int32_t grad;   /* the third input is what the activation's derivative is taken of */
    int32_t stores; /* `tiles` has no y: something in 16 bits is beside the product */
    int32_t reserved;
} matmul_state;

static inline int matmul_is_half(int32_t dtype)
{
    return dtype == TUTTI_BF16 || dtype == TUTTI_F16;
}

/* `factor` is that of a gemm. */
tutti_status matmul_tiles_prepare(matmul_state *s, const tutti_op_call *c, int32_t factor,
                                  int32_t parts, uint64_t *ret_scratch);

typedef struct matmul_tiles_job {
    const void *const *in;
    const float *bias;
    const matmul_epilogue *epilogue;
    float *preactivation, *y;
    matmul_store to; /* where the state says so */
} matmul_tiles_job;

void matmul_tiles_run(const matmul_state *s, const tutti_op_call *c, const matmul_tiles_job *j,
                      void *scratch);

/* b of a product of few rows in 16 bits, packed once for many runs. */
extern const tutti_packing matmul_packing;

#endif
