/* matmul.h - y = act(a b + bias) over the last two dimensions: shapes and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_MATMUL_MATMUL_H
#define KERNELS_MATMUL_MATMUL_H

#include "common/broadcast.h"
#include "tutti/isa.h"

typedef struct matmul_attr {
    int64_t transpose_a; /* a is (..., K, M) */
    int64_t transpose_b; /* b is (..., N, K) */
    int64_t fast;        /* MATMUL_EXACT ... */
    int64_t act;         /* MATMUL_NONE ... */
    int64_t of;          /* matmul_bias_grad: which factor is summed, 0: a, 1: b */
} matmul_attr;

/* What may become of factors of F32: nothing; three products of bf16 may stand for theirs (matmul_split.c), or on a
 * GPU TF32; they are rounded to bf16, or beside F16 to f16, where the CPU multiplies that faster, as a step in mixed
 * precision wants. */
enum { MATMUL_EXACT, MATMUL_FAST, MATMUL_BF16, MATMUL_F16 };

/* The activation behind the product. */
enum { MATMUL_NONE, MATMUL_RELU, MATMUL_GELU, MATMUL_GELU_TANH, MATMUL_ACTS };

/* What is to be done, batch dimensions aside: `count` products (M, K) x (K, N).  Strides are in
 * elements; the matrices of product i lie where broadcast_at(&batch_dims, i) says, in whole matrices. */
typedef struct matmul_shape {
    int64_t m, n, k;
    int64_t a_row, a_col; /* a(i, j) = a[i * a_row + j * a_col] */
    int64_t b_row, b_col;
    int64_t count;
    broadcast batch_dims;
} matmul_shape;

/* c->in and c->out have been checked.  When b is one matrix, a's batch dimensions become rows. */
matmul_shape matmul_shape_of(const tutti_op_call *c);

/* The epilogue of a product: y = act(y), where it lies or from z; with `x`, y = y act'(x). */
typedef struct matmul_epilogue {
    int64_t act;
    const float *z; /* the product, kept; NULL: it is in y */
    const float *x;
} matmul_epilogue;

/* Elements [first, first + n) of all those. */
void matmul_epilogue_apply(const matmul_epilogue *epilogue, float *y, int64_t first, int64_t n);
TUTTI_ISA_VARIANTS(matmul_epilogue_apply);

/* The same where operands may have 16 bits: y = act(s), z = s unless NULL, or y = s act'(x) unless x is NULL. */
typedef struct matmul_store {
    int64_t act;
    void *y, *z;
    const void *x;
    int32_t y_dtype, z_dtype, x_dtype; /* F32, BF16 or F16 */
    int32_t reserved;
} matmul_store;

/* Elements [first, first + n), n <= MATMUL_STORE, from the preactivations s, which are used up. */
enum { MATMUL_STORE = 256 };
void matmul_store_row(const matmul_store *to, float *s, int64_t first, int64_t n);
TUTTI_ISA_VARIANTS(matmul_store_row);

/* One product of at most this many multiply-adds goes to matmul_small. */
enum { MATMUL_SMALL = 64 * 64 * 64 };

/* Floats of `packed` that matmul_small needs. */
int64_t matmul_small_scratch(const matmul_shape *s);

/* y (M, N) = a b + bias (N, or NULL).  `packed` is 64-byte aligned. */
void matmul_small(const matmul_shape *s, const float *a, const float *b, const float *bias,
                  float *y, float *packed);
TUTTI_ISA_VARIANTS(matmul_small);

/* A large product by matmul_split.c.  Create: E_UNSUPPORTED when oneDNN has no products of bf16.
 * `scratch` is 64-byte aligned.  Run: allocates nothing. */
typedef struct matmul_split matmul_split;
tutti_status matmul_split_create(const matmul_shape *s, int32_t threads, int bias,
                                 matmul_split **ret, uint64_t *ret_scratch, tutti_error *err);
tutti_status matmul_split_run(const matmul_split *p, const float *a, const float *b,
                              const float *bias, float *y, void *scratch);
TUTTI_ISA_VARIANTS(matmul_split_run);
void matmul_split_destroy(matmul_split *p); /* NULL is fine */

/* What all three operations want of a, b and, with nin 3, bias; `op` begins the sentences. */
tutti_status matmul_infer(const char *op, const tutti_op_call *c, uint32_t nin, tutti_desc *out,
                          tutti_error *err);
/* From the gradient of the preactivation to those of a, b and, with nin 3, bias. */
void matmul_emit_grads(tutti_graph *g, const tutti_node *n, uint32_t nin, tutti_value dz,
                       tutti_value *dx);
/* dy act'(x). */
tutti_value matmul_emit_act_grad(tutti_graph *g, int64_t act, tutti_value dy, tutti_value x);
/* z (M, N) = a b + bias, the preactivation, in f64. */
void matmul_preactivation_f64(const tutti_op_call *c, uint32_t nin, const double *const *in,
                              double *z);

extern const tutti_kernel matmul_cpu, matmul_cuda, matmul_act_grad_cpu, matmul_act_grad_cuda;
extern const tutti_kernel matmul_add_cuda, matmul_bias_grad_cuda;
extern const tutti_kernel matmul_relu_cuda, matmul_relu_grad_cuda;
extern const tutti_algorithms matmul_algorithms, matmul_act_grad_algorithms;
extern const tutti_op tutti_op_matmul, tutti_op_matmul_act, tutti_op_matmul_act_grad,
    tutti_op_matmul_add, tutti_op_matmul_bias_grad, tutti_op_matmul_relu,
    tutti_op_matmul_relu_grad;

/* Two for every product.  A matrix of `a` has M K entries in either orientation, so K is that over the
 * result's rows. */
static inline double matmul_flops(const tutti_op_call *c)
{
    const tutti_desc *a = &c->in[0], *y = &c->out[0];
    if (y->rank < 2 || a->rank < 2)
        return 0.0;
    const double rows = (double)y->dim[y->rank - 2];
    const double inner =
        rows > 0.0 ? (double)a->dim[a->rank - 1] * (double)a->dim[a->rank - 2] / rows : 0.0;
    return 2.0 * (double)tutti_numel(y) * inner;
}

#endif
