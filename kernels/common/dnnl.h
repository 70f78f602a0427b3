/* dnnl.h - oneDNN behind six calls: a convolution or matrix product in f32 or bf16, prepared once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_DNNL_H
#define KERNELS_COMMON_DNNL_H

#include "tutti/tensor.h"

enum {
    DNN_CONV,             /* src, weights, bias -> dst */
    DNN_CONV_GRAD_INPUT,  /* dst, weights -> src */
    DNN_CONV_GRAD_WEIGHT, /* src, dst -> weights */
    DNN_MATMUL,           /* src, weights, bias -> dst */
    DNN_KINDS
};

enum { DNN_SRC, DNN_WEIGHTS, DNN_BIAS, DNN_DST, DNN_SLOTS };

/* The library's algorithms for a convolution: over the images as they lie; over copies in the library's own
 * layout; by Winograd's transforms of such copies, where errors grow to some 1e-5. */
enum { DNN_DIRECT, DNN_BLOCKED, DNN_WINOGRAD, DNN_ALGORITHMS };

/* "oneDNN 2.6.3 WHAT": the name of an algorithm that is made of the library's primitives. */
enum { DNN_NAME = 48 };
void dnn_name(const char *what, char ret[DNN_NAME]);

/* A tensor in memory, sizes in oneDNN's order: N C H W, [G] O I KH KW, [batch] M N. */
typedef struct dnn_tensor {
    int32_t rank; /* 0: there is none */
    int32_t any;  /* 1: oneDNN may ask for another layout; it is then reordered in every run */
    int32_t bf16; /* 1: the primitive reads or writes bf16 instead of f32 */
    int32_t f32;  /* 1: they are f32 in memory all the same, and are converted in every run */
    int64_t dim[TUTTI_MAX_RANK];
    int64_t stride[TUTTI_MAX_RANK]; /* in elements */
} dnn_tensor;

typedef struct dnn_call {
    int32_t kind; /* DNN_CONV ... */
    int32_t threads;
    int32_t relu;      /* 1: dst = max(0, ...) */
    int32_t algorithm; /* DNN_DIRECT ...; convolutions only */
    int32_t add;       /* 1: dst = dst + ... */
    int32_t reserved;
    dnn_tensor slot[DNN_SLOTS];
    int64_t stride[2], padding[2], dilation[2]; /* convolutions; dilation 1 is none */
} dnn_call;

/* A prepared primitive.  Not to be run by two threads at once. */
typedef struct dnn dnn;

/* TUTTI_E_UNSUPPORTED when oneDNN has no such primitive.  `op` begins the sentence.  [control] */
tutti_status dnn_create(const dnn_call *c, const char *op, dnn **ret, uint64_t *ret_scratch,
                        tutti_error *err);

/* data[DNN_SRC ...]: the tensors in the layouts that the call told.  Allocates nothing.  [step] */
tutti_status dnn_run(dnn *p, void *const data[DNN_SLOTS], void *scratch);

/* y (M, N) = a b, or y + a b; a is (K, M), b is (N, K) where transposed.  By one thread. */
typedef struct dnn_gemm {
    int64_t m, n, k;
    int64_t a_row, b_row, y_row; /* elements from row to row as they lie in memory */
    int32_t transpose_a, transpose_b;
    int32_t add;
    int32_t reserved;
} dnn_gemm;

/* The library takes and frees memory for its copies in every call.  [step] */
tutti_status dnn_gemm_run(const dnn_gemm *p, const float *a, const float *b, float *y);

/* The name that oneDNN gives to the implementation: "jit:avx512_common" and so on. */
const char *dnn_implementation(const dnn *p);

void dnn_destroy(dnn *p); /* NULL is fine */

#endif
