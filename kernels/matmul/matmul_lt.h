/* matmul_lt.h - products by cuBLASLt, with what can be done before their results are stored. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_LT_H
#define KERNELS_MATMUL_MATMUL_LT_H

#include "matmul/matmul.h"

enum {
    MATMUL_A,
    MATMUL_B,
    MATMUL_BIAS, /* or a result: the gradient of a bias */
    MATMUL_ADD,  /* as y; may be y */
    MATMUL_AUX, /* kept by a product or read by its gradient: what GELU is taken of, as y; of ReLU a
                    mask, U8 */
    MATMUL_Y,
    MATMUL_OPERANDS
};

typedef struct matmul_lt_want {
    matmul_shape shape; /* without empty sums */
    int32_t transpose_a, transpose_b;
    int32_t dtype[MATMUL_OPERANDS]; /* TUTTI_DTYPE_NONE: there is no such operand */
    int32_t tf32;                   /* factors of F32 may be rounded */
    int32_t act;                    /* MATMUL_NONE, or the activation */
    int32_t grad;                   /* times the activation's derivative at AUX instead */
    int32_t masks;     /* the library's masks of ReLU are as matmul_mask.h has them */
    int32_t probe;     /* by its first algorithm; nothing is measured or kept */
    int32_t bias_grad; /* 1 + MATMUL_A or B: the sums of that factor go to BIAS; 0: none */
} matmul_lt_want;

typedef struct matmul_lt matmul_lt; /* opaque */

/* By the algorithm that was measured to be the fastest of the first few that the library names, or by
 * the first where nothing is measured.  Errors: UNSUPPORTED the library does not do that, or is not
 * there; NOMEM.  [control] */
TUTTI_NODISCARD tutti_status matmul_lt_create(const tutti_cuda_v1 *cuda,
                                              const matmul_lt_want *w, matmul_lt **ret,
                                              uint64_t *ret_workspace, tutti_error *err);
void matmul_lt_destroy(matmul_lt *p); /* NULL is allowed */
/* Tells library and algorithm; `apart`: why an epilogue is done behind it by a kernel of our own, or "".
 * [control] */
void matmul_lt_tell(const matmul_lt *p, const tutti_op_call *c, const char *apart);

/* Whether the library's masks of ReLU are as matmul_mask.h has them; found out once.  [control] */
int matmul_lt_masks(const tutti_cuda_v1 *cuda);

/* data[MATMUL_A ...]; the workspace begins at a multiple of 256.  [step] */
TUTTI_NODISCARD tutti_status matmul_lt_run(const matmul_lt *p, const tutti_cuda_v1 *cuda,
                                           void *const data[MATMUL_OPERANDS], void *workspace);

#endif
