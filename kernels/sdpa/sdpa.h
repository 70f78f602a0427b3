/* sdpa.h - scaled dot-product attention: shapes, tiles, and what its four operations share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SDPA_SDPA_H
#define KERNELS_SDPA_SDPA_H

#include "common/op_util.h"
#include "sdpa/sdpa_shape.h"
#include "tutti/isa.h"

#include <stdbool.h>

/* y = softmax(scale q k^T + bias) v for each of B H heads (Vaswani et al. 2017).
 *   q (B, H, Tq, D), k, v (B, H, Tk, D), bias (optional) broadcasts to (B, H, Tq, Tk)
 *   y (B, H, Tq, D), lse (B, H, Tq): the logarithm of each row's sum of exponentials
 * causal: query i sees the keys up to i + Tk - Tq, so that the last query sees all of them.
 * dropout: probabilities are left out and the others scaled up, as by the operation of that name on
 * (B, H, Tq, Tk) with this stream; lse is without.  Nothing of that is stored. */
typedef struct sdpa_attr {
    int64_t causal;
    double scale;   /* 0: 1 / sqrt(D) */
    double dropout; /* probability */
    int64_t stream;
} sdpa_attr;
enum { SDPA_ATTRS = 4 };
/* The same for another operation; fills attr[SDPA_ATTRS]. */
void sdpa_attr_list(const sdpa_attr *a, tutti_attr attr[SDPA_ATTRS]);

/* Checks q, k, v = c->in[0..3) and the bias at `bias` if there is one.  *ret may be NULL. */
tutti_status sdpa_shape_of(const char *op, const tutti_op_call *c, uint32_t bias,
                           sdpa_shape *ret, tutti_error *err);
/* The same where c->in[0] is (B, T, 3, H, D): q, k and v side by side. */
tutti_status sdpa_packed_shape_of(const char *op, const tutti_op_call *c, uint32_t bias,
                                  sdpa_shape *ret, tutti_error *err);
/* What infer has checked: `packed`, the second.  Kernels may have operands of any floating dtype. */
sdpa_shape sdpa_shape_known(const tutti_op_call *c, bool packed, uint32_t bias);
extern const tutti_attr_field sdpa_fields[SDPA_ATTRS];
/* Two for every product of q k^T and of probabilities and v, of the keys that are seen; a bias hides none. */
double sdpa_flops_of(const sdpa_shape *s);
/* Five products in the place of two: the scores once more, dv, dp, dq and dk. */
static inline double sdpa_grad_flops_of(const sdpa_shape *s)
{
    return 2.5 * sdpa_flops_of(s);
}

/* ---- f64, by the definition ---- */

void sdpa_reference(const sdpa_shape *s, const double *q, const double *k, const double *v,
                    const double *bias, double *y, double *lse);
/* dq, dk and dv come zeroed. */
typedef struct sdpa_tensors64 {
    const double *q, *k, *v, *bias, *y, *lse, *dy;
    double *dq, *dk, *dv;
} sdpa_tensors64;
void sdpa_grad_reference(const sdpa_shape *s, const sdpa_tensors64 *t);

/* ---- on a CPU, in f32, bf16 or f16 ---- */

typedef struct sdpa_tensors {
    const void *q, *k, *v;
    const float *bias; /* may be NULL */
    void *y;           /* read by the gradient */
    float *lse;        /* so is this */
    const void *dy;
    void *dq, *dk, *dv;
    int32_t dtype; /* of all but bias and lse: TUTTI_F32, or 16 bits and D is even */
    int32_t reserved;
} sdpa_tensors;

/* What prepare says of the dtypes of a call: E_UNSUPPORTED where the host has to convert.  `like` has the bits of inputs
 * that go with q. */
tutti_status sdpa_dtypes(const tutti_op_call *c, uint32_t like, const sdpa_shape *s);
/* Both passes, by the variant for t->dtype and this CPU. */
void sdpa_forward(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch);
void sdpa_backward(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch);

/* Those of one variant.  Sources with PAIRS_F16 have F16 in the place of BF16. */
uint64_t sdpa_scratch(const sdpa_shape *s, int threads);
void sdpa_run(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch);
TUTTI_ISA_VARIANTS(sdpa_run);
uint64_t sdpa_grad_scratch(const sdpa_shape *s, int threads);
void sdpa_grad_run(const sdpa_shape *s, const sdpa_tensors *t, int threads, void *scratch);
TUTTI_ISA_VARIANTS(sdpa_grad_run);

/* ---- on a GPU ---- */

extern const tutti_kernel sdpa_cuda, sdpa_grad_cuda, sdpa_packed_cuda, sdpa_packed_grad_cuda;
/* By cuDNN where that serves, otherwise by these. */
extern const tutti_kernel sdpa_select, sdpa_grad_select, sdpa_packed_select,
    sdpa_packed_grad_select;

/* ---- tiles ---- */

enum { SDPA_TILE = 64 };

/* c (m, n) = or += a (m, k) b (k, n); n is a multiple of SIMD_LANES, a is read at
 * i * a_row + j * a_col, b and c have rows of b_row and c_row floats. */
typedef struct sdpa_gemm {
    int64_t m, n, k, a_row, a_col, b_row, c_row;
} sdpa_gemm;
void sdpa_gemm_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add);
/* The same where a and b are words of two numbers of 16 bits that are neighbours along k, which counts words. */
void sdpa_gemm_pairs_run(const sdpa_gemm *p, const float *a, const float *b, float *c, int add);

/* to (d, SDPA_TILE) = scale x^T for n <= SDPA_TILE rows of x; zeros beyond. */
void sdpa_pack_transposed(const float *x, int64_t row, int64_t n, int64_t d, float scale,
                          float *to);
/* to (n, width) = scale x; zeros from d to width. */
void sdpa_pack_rows(const float *x, int64_t row, int64_t n, int64_t d, int64_t width,
                    float scale, float *to);
/* to (words, SDPA_TILE) = x^T as bits, for n <= SDPA_TILE rows of words; zeros beyond. */
void sdpa_pack_words(const float *x, int64_t row, int64_t n, int64_t words, float *to);
/* to ((n + 1) / 2, width) words: columns of rows 2 j and 2 j + 1 of 16 bits; zeros beyond n and d. */
void sdpa_pack_pairs(const uint16_t *x, int64_t row, int64_t n, int64_t d, int64_t width,
                     float *to);
/* A row of a tile becomes 16 bits in its place. */
void sdpa_narrow_row(float *row);
/* Rows of tiles p and ds become words, each of two rows: p2 and ds2; ds becomes 16 bits in its place, too. */
void sdpa_narrow_tiles(int64_t rows, const float *p, float *ds, float *p2, float *ds2);
/* to = scale x, rounded to 16 bits */
void sdpa_store_half(const float *x, int64_t n, float scale, uint16_t *to);
double sdpa_dot_half(const uint16_t *x, const uint16_t *y, int64_t n);
/* One row of a tile goes from scores to exponentials exp(s - shift), `seen` of them, zeros beyond.
 * *max and *sum are those of the row so far; returns what earlier results shrink by. */
float sdpa_softmax_row(float *s, int64_t seen, float *max, float *sum);
/* Probabilities or their gradients of query i and keys [j, j + n), n <= SDPA_TILE: those left out become
 * zeros, the others are scaled up. */
void sdpa_drop_row(const sdpa_shape *s, int64_t head, int64_t i, int64_t j, int64_t n,
                   float *p);
/* p = exp(p - lse), ds = p (ds - delta), zeros from `seen` on. */
void sdpa_grad_row(float *p, float *ds, int64_t seen, float lse, float delta);
/* Both for scores that are yet to be scaled, and for products of 16 bits: the exponentials of a row become these in its
 * place. */
float sdpa_softmax_half(float *s, float scale, int64_t seen, float *max, float *sum);
/* A row of p and ds; p NULL: there is none. */
typedef struct sdpa_grad_line {
    float *p, *ds;
    int64_t seen;
    float lse, delta;
} sdpa_grad_line;
/* Two rows, of which the first is there, as words of p2 and ds2; ds becomes 16 bits in its place, p is used up. */
void sdpa_grad_half(const sdpa_grad_line l[2], float scale, float *p2, float *ds2);
void sdpa_scale_row(float *x, float scale, int64_t n);
double sdpa_dot(const float *x, const float *y, int64_t n);

/* ---- out of simpler operations, over (B, H, T, D) ---- */

typedef struct sdpa_values {
    tutti_value q, k, v, bias; /* bias may be 0 */
    tutti_value y, lse;        /* of sdpa_plain */
} sdpa_values;

/* Emits the definition; writes y and lse. */
void sdpa_plain(tutti_graph *g, const sdpa_attr *a, sdpa_values *v);
/* Emits the gradient for dy and dlse, either of which may be 0: d is of q, k, v and the bias. */
void sdpa_plain_grad(tutti_graph *g, const sdpa_attr *a, const sdpa_values *v, tutti_value dy,
                     tutti_value dlse, tutti_value d[4]);

#endif
