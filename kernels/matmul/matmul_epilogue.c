/* matmul_epilogue.c - the epilogue of a product: activations and their gradients over its results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul/matmul_epilogue.h"
#include "common/half_rows.h"
#include "matmul/matmul.h"

#include <string.h>

#if defined(__AVX512BF16__)
#include "gelu/gelu_avx512.h"

/* Subnormal numbers become 0.  Sixteen sums or fewer to where they go, all in bf16: as they are, their activation, or times its derivative.
 * `act` and what there is besides y are constants after inlining. */
SIMD_INLINE void store_some(const matmul_store *to, int64_t act, int z, int x, const float *s,
                            int64_t at, __mmask16 some)
{
    __m512 v = _mm512_maskz_loadu_ps(some, s);
    if (z)
        _mm256_mask_storeu_epi16((uint16_t *)to->z + at, some, (__m256i)_mm512_cvtneps_pbh(v));
    if (x) {
        const __m256i of = _mm256_maskz_loadu_epi16(some, (const uint16_t *)to->x + at);
        const __m512 wide =
            _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(of), 16));
        v = _mm512_mul_ps(v, gelu_slope_16(wide, act == MATMUL_GELU_TANH));
    } else if (act) {
        v = gelu_16(v, act == MATMUL_GELU_TANH);
    }
    _mm256_mask_storeu_epi16((uint16_t *)to->y + at, some, (__m256i)_mm512_cvtneps_pbh(v));
}

SIMD_INLINE void store_all(const matmul_store *to, int64_t act, int z, int x, const float *s,
                           int64_t first, int64_t n)
{
    int64_t i = 0;
    for (; i + SIMD_LANES <= n; i += SIMD_LANES)
        store_some(to, act, z, x, s + i, first + i, 0xFFFF);
    if (i < n)
        store_some(to, act, z, x, s + i, first + i, (__mmask16)((1u << (n - i)) - 1u));
}

/* Whether it is done: a row without an activation or with GELU, of which everything is bf16. */
static int store_bf16(const matmul_store *to, const float *s, int64_t first, int64_t n)
{
    const int tanh_form = to->act == MATMUL_GELU_TANH;
    if (to->y_dtype != TUTTI_BF16 || (to->z && to->z_dtype != TUTTI_BF16) ||
        (to->x && to->x_dtype != TUTTI_BF16) || to->act == MATMUL_RELU || (to->x && to->z))
        return 0;
    if (!to->act && to->z)
        return 0;
    if (!to->act)
        store_all(to, MATMUL_NONE, 0, 0, s, first, n);
    else if (to->x && tanh_form)
        store_all(to, MATMUL_GELU_TANH, 0, 1, s, first, n);
    else if (to->x)
        store_all(to, MATMUL_GELU, 0, 1, s, first, n);
    else if (to->z && tanh_form)
        store_all(to, MATMUL_GELU_TANH, 1, 0, s, first, n);
    else if (to->z)
        store_all(to, MATMUL_GELU, 1, 0, s, first, n);
    else if (tanh_form)
        store_all(to, MATMUL_GELU_TANH, 0, 0, s, first, n);
    else
        store_all(to, MATMUL_GELU, 0, 0, s, first, n);
    return 1;
}
#else
static int store_bf16(const matmul_store *to, const float *s, int64_t first, int64_t n)
{
    (void)to, (void)s, (void)first, (void)n;
    return 0;
}
#endif

/* Loops of their own, so that each has no choices in it. */
#define LOOPS(name, act)                                                                       \
    static void name(const float *z, float *y, int64_t n)                                      \
    {                                                                                          \
        OP_LOOP for (int64_t i = 0; i < n; i++) y[i] = matmul_act_f32(z[i], act);              \
    }                                                                                          \
    static void name##_grad(const float *x, float *y, int64_t n)                               \
    {                                                                                          \
        OP_LOOP for (int64_t i = 0; i < n; i++) y[i] = matmul_act_grad_f32(y[i], x[i], act);   \
    }
LOOPS(relu, MATMUL_RELU)
LOOPS(gelu, MATMUL_GELU)
LOOPS(gelu_tanh, MATMUL_GELU_TANH)

void matmul_epilogue_apply(const matmul_epilogue *epilogue, float *y, int64_t first, int64_t n)
{
    typedef void loop(const float *, float *, int64_t);
    static loop *const acts[] = {relu, gelu, gelu_tanh};
    static loop *const grads[] = {relu_grad, gelu_grad, gelu_tanh_grad};
    float *to = y + first;
    if (epilogue->x)
        grads[epilogue->act - 1](epilogue->x + first, to, n);
    else
        acts[epilogue->act - 1](epilogue->z ? epilogue->z + first : to, to, n);
}

static void put(const float *s, void *to, int32_t dtype, int64_t first, int64_t n)
{
    if (half_is(dtype))
        half_downcast(s, (uint16_t *)to + first, dtype, n);
    else
        memcpy((float *)to + first, s, (size_t)n * sizeof *s);
}

void matmul_store_row(const matmul_store *to, float *s, int64_t first, int64_t n)
{
    if (store_bf16(to, s, first, n))
        return;
    float x[MATMUL_STORE];
    const matmul_epilogue epilogue = {to->act, NULL, to->x ? x : NULL};
    if (to->z)
        put(s, to->z, to->z_dtype, first, n);
    if (to->x && half_is(to->x_dtype))
        half_upcast((const uint16_t *)to->x + first, to->x_dtype, x, n);
    else if (to->x)
        memcpy(x, (const float *)to->x + first, (size_t)n * sizeof *x);
    if (to->act)
        matmul_epilogue_apply(&epilogue, s, 0, n);
    put(s, to->y, to->y_dtype, first, n);
}
