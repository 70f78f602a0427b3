/* matmul_split.c - one product of f32 as three of bf16, for CPUs that multiply these faster. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dnnl.h"
#include "common/half.h"
#include "matmul/matmul.h"

#include <stdlib.h>

/* Of every number a head, its nearest bf16, and a rest, the nearest bf16 of what is left:
 *   a b ~ head(a) head(b) + head(a) rest(b) + rest(a) head(b), summed in f32.
 * What is left out is below 2^-16 of |a| |b|.  An infinity that goes in may come out as a NaN. */

struct matmul_split {
    matmul_shape shape;
    dnn *heads;  /* y = head(a) head(b) + bias */
    dnn *others; /* y = y + ... */
    int64_t na, nb;
    uint64_t library; /* bytes of its scratch memory */
    int32_t threads;
    int32_t reserved;
};

enum { CHUNK = 1 << 14 };

static int64_t padded(int64_t n)
{
    return (n + 31) / 32 * 32;
}

static void split(const float *x, uint16_t *head, uint16_t *rest, int64_t n)
{
    OP_LOOP for (int64_t i = 0; i < n; i++)
    {
        const uint32_t bits = fast_bits(x[i]);
        const uint16_t near = half_to_bf16(x[i]), cut = (uint16_t)(bits >> 16);
        /* rounding must not make an infinity of the largest numbers */
        const uint16_t h = (near & 0x7FFFu) == 0x7F80u ? cut : near;
        const uint16_t r = half_to_bf16(x[i] - half_from_bf16(h));
        head[i] = h;
        rest[i] = (bits & 0x7F800000u) == 0x7F800000u ? 0 : r;
    }
}

static void split_all(const float *x, uint16_t *head, uint16_t *rest, int64_t n, int threads)
{
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < chunks; k++) {
        const int64_t at = k * CHUNK, left = n - at;
        split(x + at, head + at, rest + at, left < CHUNK ? left : CHUNK);
    }
}

static dnn_tensor matrix(int64_t rows, int64_t cols, int64_t row, int64_t col, int bf16)
{
    return (dnn_tensor){.rank = 2, .bf16 = bf16, .dim = {rows, cols}, .stride = {row, col}};
}

void matmul_split_destroy(matmul_split *p)
{
    if (!p)
        return;
    dnn_destroy(p->heads);
    dnn_destroy(p->others);
    free(p);
}

tutti_status matmul_split_create(const matmul_shape *s, int32_t threads, int bias,
                                 matmul_split **ret, uint64_t *ret_scratch, tutti_error *err)
{
    uint64_t heads = 0, others = 0;
    dnn_call call = {.kind = DNN_MATMUL, .threads = threads};
    matmul_split *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "matmul: no memory for its state");
    p->shape = *s;
    p->threads = threads;
    p->na = s->m * s->k;
    p->nb = s->k * s->n;
    call.slot[DNN_SRC] = matrix(s->m, s->k, s->a_row, s->a_col, 1);
    call.slot[DNN_WEIGHTS] = matrix(s->k, s->n, s->b_row, s->b_col, 1);
    call.slot[DNN_DST] = matrix(s->m, s->n, s->n, 1, 0);
    if (bias)
        call.slot[DNN_BIAS] = matrix(1, s->n, s->n, 1, 0);
    tutti_status status = dnn_create(&call, "matmul", &p->heads, &heads, err);
    call.slot[DNN_BIAS] = (dnn_tensor){0};
    call.add = 1;
    if (!status)
        status = dnn_create(&call, "matmul", &p->others, &others, err);
    if (status) {
        matmul_split_destroy(p);
        return status;
    }
    p->library = ((heads > others ? heads : others) + 63) / 64 * 64;
    *ret_scratch = p->library + (uint64_t)(2 * (padded(p->na) + padded(p->nb))) * 2;
    *ret = p;
    return TUTTI_OK;
}

tutti_status matmul_split_run(const matmul_split *p, const float *a, const float *b,
                              const float *bias, float *y, void *scratch)
{
    uint16_t *const a_head = (uint16_t *)((char *)scratch + p->library);
    uint16_t *const a_rest = a_head + padded(p->na), *const b_head = a_rest + padded(p->na);
    uint16_t *const b_rest = b_head + padded(p->nb);
    split_all(a, a_head, a_rest, p->na, p->threads);
    split_all(b, b_head, b_rest, p->nb, p->threads);
    void *data[DNN_SLOTS] = {[DNN_SRC] = a_head,
                             [DNN_WEIGHTS] = b_head,
                             [DNN_BIAS] = (void *)(uintptr_t)bias,
                             [DNN_DST] = y};
    tutti_status s = dnn_run(p->heads, data, scratch);
    data[DNN_BIAS] = NULL;
    data[DNN_WEIGHTS] = b_rest;
    if (!s)
        s = dnn_run(p->others, data, scratch);
    data[DNN_SRC] = a_rest;
    data[DNN_WEIGHTS] = b_head;
    return s ? s : dnn_run(p->others, data, scratch);
}
