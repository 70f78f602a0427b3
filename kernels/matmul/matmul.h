/* matmul.h - y = a b + bias over the last two dimensions: shapes and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_H
#define KERNELS_MATMUL_MATMUL_H

#include "common/broadcast.h"

typedef struct matmul_attr {
    int64_t transpose_a; /* a is (..., K, M) */
    int64_t transpose_b; /* b is (..., N, K) */
    int64_t fast;        /* three products of bf16 may stand for it, see matmul_split.c */
} matmul_attr;

/* What is to be done, leading dimensions aside: `count` products (M, K) x (K, N).  Strides are in
 * elements; the matrices of product i lie where broadcast_at(&lead, i) says, in whole matrices. */
typedef struct matmul_shape {
    int64_t m, n, k;
    int64_t a_row, a_col; /* a(i, j) = a[i * a_row + j * a_col] */
    int64_t b_row, b_col;
    int64_t count;
    broadcast lead;
} matmul_shape;

/* c->in and c->out have been checked.  When b is one matrix, a's leading dimensions become rows. */
matmul_shape matmul_shape_of(const tutti_op_call *c);

/* One product of at most this many multiply-adds goes to matmul_small. */
enum { MATMUL_SMALL = 64 * 64 * 64 };

/* Floats of `packed` that matmul_small needs. */
int64_t matmul_small_room(const matmul_shape *s);

/* y (M, N) = a b + bias (N, or NULL).  `packed` is 64-byte aligned. */
void matmul_small(const matmul_shape *s, const float *a, const float *b, const float *bias,
                  float *y, float *packed);

/* A large product by matmul_split.c.  Create: E_UNSUPPORTED when oneDNN has no products of bf16.
 * `scratch` is 64-byte aligned.  Run: allocates nothing. */
typedef struct matmul_split matmul_split;
tutti_status matmul_split_create(const matmul_shape *s, int32_t threads, int bias,
                                 matmul_split **ret, uint64_t *ret_scratch, tutti_error *err);
tutti_status matmul_split_run(const matmul_split *p, const float *a, const float *b,
                              const float *bias, float *y, void *scratch);
void matmul_split_destroy(matmul_split *p); /* NULL is fine */

extern const tutti_kernel matmul_cpu, matmul_cuda;
extern const tutti_ways matmul_ways;
extern const tutti_op tutti_op_matmul;

#endif
