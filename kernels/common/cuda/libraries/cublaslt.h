/* cublaslt.h - the part of cuBLASLt that is used: NVIDIA's values and signatures, our names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_CUDA_LIBRARIES_CUBLASLT_H
#define KERNELS_COMMON_CUDA_LIBRARIES_CUBLASLT_H

#include "tutti/cuda.h"

#include <stddef.h>

/* NVIDIA's headers are not needed to build; a test compares these with them where they are installed.
 * Descriptors, handles and streams are void * here, enums uint32_t. */

enum { LT_SUCCESS = 0, LT_NOT_SUPPORTED = 15 };              /* cublasStatus_t */
enum { LT_R_32F = 0, LT_R_16F = 2, LT_R_16BF = 14 };         /* cudaDataType */
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_32F_FAST_TF32 = 77 }; /* cublasComputeType_t */
enum { LT_OP_N = 0, LT_OP_T = 1 };                           /* cublasOperation_t */
enum {                                                       /* cublasLtEpilogue_t */
       LT_EPILOGUE_DEFAULT = 1,
       LT_EPILOGUE_RELU = 2,
       LT_EPILOGUE_BIAS = 4, /* goes with ReLU and GELU: one number for both */
       LT_EPILOGUE_GELU = 32,
       LT_EPILOGUE_AUX =
           128, /* only with others: what GELU is taken of, or ReLU's mask, is kept or there */
       LT_EPILOGUE_DRELU = 8 | LT_EPILOGUE_AUX,
       LT_EPILOGUE_DGELU = 64 | LT_EPILOGUE_AUX,
       LT_EPILOGUE_BGRADA =
           256, /* a factor's sums go to the bias's place: A's rows, B's columns */
       LT_EPILOGUE_BGRADB = 512
};
enum { LT_REDUCTION_COMPUTE_TYPE = 2 };                         /* cublasLtReductionScheme_t */
enum { LT_LAYOUT_BATCH_COUNT = 5, LT_LAYOUT_BATCH_OFFSET = 6 }; /* int32_t, int64_t */
enum {                                                          /* attributes of a product */
       LT_DESC_TRANSA = 3,
       LT_DESC_TRANSB = 4,
       LT_DESC_EPILOGUE = 7,
       LT_DESC_BIAS_POINTER = 8,
       LT_DESC_AUX_POINTER = 11,
       LT_DESC_AUX_LEADING = 12, /* int64_t: a multiple of 8; of a mask in bits, of 128 */
       LT_DESC_AUX_DATA_TYPE = 22,
       LT_DESC_BIAS_DATA_TYPE = 26
};
enum { /* attributes of a search for algorithms */
       LT_PREF_MAX_WORKSPACE = 1,
       LT_PREF_REDUCTION_MASK = 3,
       LT_PREF_ALIGNMENT_A = 5,
       LT_PREF_ALIGNMENT_B = 6,
       LT_PREF_ALIGNMENT_C = 7,
       LT_PREF_ALIGNMENT_D = 8
};

enum { /* what an algorithm tells of itself, uint32_t each */
       LT_ALGO_ID = 0,
       LT_ALGO_TILE = 1,
       LT_ALGO_SPLIT_K = 2,
       LT_ALGO_STAGES = 6
};

typedef struct lt_algo {
    uint64_t data[8];
} lt_algo;

typedef struct lt_heuristic {
    lt_algo algo;
    size_t workspace;
    uint32_t state;
    float waves;
    int reserved[4];
} lt_heuristic;

/* X(member, NVIDIA's name, arguments): all of them return a cublasStatus_t. */
#define LT_FUNCTIONS(X)                                                                        \
    X(create, cublasLtCreate, (void **handle))                                                 \
    X(destroy, cublasLtDestroy, (void *handle))                                                \
    X(desc_create, cublasLtMatmulDescCreate, (void **desc, uint32_t compute, uint32_t scale))  \
    X(desc_destroy, cublasLtMatmulDescDestroy, (void *desc))                                   \
    X(desc_set, cublasLtMatmulDescSetAttribute,                                                \
      (void *desc, uint32_t attribute, const void *value, size_t bytes))                       \
    X(layout_create, cublasLtMatrixLayoutCreate,                                               \
      (void **layout, uint32_t type, uint64_t rows, uint64_t columns, int64_t leading))        \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (void *layout))                             \
    X(layout_set, cublasLtMatrixLayoutSetAttribute,                                            \
      (void *layout, uint32_t attribute, const void *value, size_t bytes))                     \
    X(pref_create, cublasLtMatmulPreferenceCreate, (void **pref))                              \
    X(pref_destroy, cublasLtMatmulPreferenceDestroy, (void *pref))                             \
    X(pref_set, cublasLtMatmulPreferenceSetAttribute,                                          \
      (void *pref, uint32_t attribute, const void *value, size_t bytes))                       \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                               \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *pref, int wanted,   \
       lt_heuristic *results, int *ret_count))                                                 \
    X(check, cublasLtMatmulAlgoCheck,                                                          \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, const lt_algo *algo,      \
       lt_heuristic *ret_result))                                                              \
    X(algo_get, cublasLtMatmulAlgoConfigGetAttribute,                                          \
      (const lt_algo *algo, uint32_t attribute, void *value, size_t bytes, size_t *ret_bytes)) \
    X(matmul, cublasLtMatmul,                                                                  \
      (void *handle, void *desc, const void *alpha, const void *a, void *a_layout,             \
       const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,         \
       void *d, void *d_layout, const lt_algo *algo, void *workspace, size_t workspace_bytes,  \
       void *stream))

typedef struct cublaslt {
    void *handle;
    uint64_t version; /* 130100: 13.1.0; algorithms are kept for one version */
#define LT_MEMBER(member, name, args) uint32_t(*member) args;
    LT_FUNCTIONS(LT_MEMBER)
#undef LT_MEMBER
} cublaslt;

/* The device's own, made by the first call.  Errors: NOTFOUND no such library, FAIL.  [control] */
TUTTI_NODISCARD tutti_status cublaslt_of(const tutti_cuda_v1 *cuda, const cublaslt **ret_lt,
                                         tutti_error *err);

#endif
