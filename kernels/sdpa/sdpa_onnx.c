/* sdpa_onnx.c - attention as operators of ONNX: products, a mask, softmax. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa_onnx.h"

#include <math.h>
#include <stdlib.h>

/* 0 where query i of tq sees key j of tk, which is up to i + tk - tq, else -inf. */
static tutti_value causal_mask(const tutti_onnx *o, int64_t tq, int64_t tk)
{
    float *mask = malloc((size_t)(tq * tk) * sizeof *mask);
    if (!mask) {
        (void)o->graph->fail(o->graph, TUTTI_E_NOMEM, "no memory for a causal mask");
        return 0;
    }
    for (int64_t i = 0; i < tq; i++)
        for (int64_t j = 0; j < tk; j++)
            mask[i * tk + j] = j <= i + tk - tq ? 0.0f : -INFINITY;
    const tutti_tensor t = {mask, {{tq, tk}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value v = o->graph->constant(o->graph, &t);
    free(mask);
    return v;
}

tutti_value sdpa_onnx_of(const tutti_onnx *o, const tutti_value *qkv, tutti_value bias)
{
    static const int64_t swap[4] = {0, 1, 3, 2};
    const sdpa_attr *a = o->call->attr;
    const tutti_desc *x = o->call->in;
    const int packed = x[0].rank == 5; /* (B, T, 3, H, D), else q (B, H, Tq, D) */
    const int64_t tq = x[0].dim[packed ? 1 : 2], tk = packed ? tq : x[1].dim[2];
    const double scale =
        a->scale != 0.0 ? a->scale : 1.0 / sqrt((double)x[0].dim[packed ? 4 : 3]);
    const tutti_value q = onnx_op2(o, "Mul", qkv[0], onnx_number(o, scale));
    tutti_value s = onnx_op2(o, "MatMul", q, onnx_transpose(o, qkv[1], swap, 4));
    if (bias)
        s = onnx_op2(o, "Add", s, bias);
    if (a->causal)
        s = onnx_op2(o, "Add", s, causal_mask(o, tq, tk));
    return onnx_op2(o, "MatMul", onnx_op1(o, "Softmax", s), qkv[2]);
}
