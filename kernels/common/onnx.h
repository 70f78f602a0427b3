/* onnx.h - what rules for ONNX have in common: operators, constants, transposes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_ONNX_H
#define KERNELS_COMMON_ONNX_H

#include "common/op_util.h"
#include "tutti/onnx.h"

static inline tutti_value onnx_op(const tutti_onnx *o, const char *type, const tutti_value *in,
                                  uint32_t nin, const tutti_attr *attr, uint32_t nattr)
{
    return o->graph->emit(o->graph, type, in, nin, attr, nattr, NULL, 0);
}

static inline tutti_value onnx_op1(const tutti_onnx *o, const char *type, tutti_value x)
{
    return onnx_op(o, type, &x, 1, NULL, 0);
}

static inline tutti_value onnx_op2(const tutti_onnx *o, const char *type, tutti_value a,
                                   tutti_value b)
{
    const tutti_value in[2] = {a, b};
    return onnx_op(o, type, in, 2, NULL, 0);
}

/* An F32 of rank 0. */
static inline tutti_value onnx_number(const tutti_onnx *o, double value)
{
    float f = (float)value;
    const tutti_tensor t = {&f, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return o->graph->constant(o->graph, &t);
}

/* An I64 of rank 0. */
static inline tutti_value onnx_whole(const tutti_onnx *o, int64_t value)
{
    const tutti_tensor t = {&value, {{0}, 0, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    return o->graph->constant(o->graph, &t);
}

/* An I64 (n). */
static inline tutti_value onnx_list(const tutti_onnx *o, const int64_t *v, int64_t n)
{
    int64_t copy[2 * TUTTI_MAX_RANK] = {0};
    for (int64_t k = 0; k < n; k++)
        copy[k] = v[k];
    const tutti_tensor t = {copy, {{n}, 1, TUTTI_I64}, TUTTI_DEVICE_CPU, 0};
    return o->graph->constant(o->graph, &t);
}

static inline tutti_value onnx_transpose(const tutti_onnx *o, tutti_value x,
                                         const int64_t *order, int32_t n)
{
    const tutti_attr perm = tutti_attr_list("perm", order, (uint32_t)n);
    return onnx_op(o, "Transpose", &x, 1, &perm, 1);
}

/* (B, ..., C) to (B, C, ...), for operators that want the channel second; and back. */
static inline tutti_value onnx_channel_second(const tutti_onnx *o, tutti_value x, int32_t rank)
{
    int64_t order[TUTTI_MAX_RANK] = {0, rank - 1};
    for (int32_t k = 2; k < rank; k++)
        order[k] = k - 1;
    return rank > 2 ? onnx_transpose(o, x, order, rank) : x;
}

static inline tutti_value onnx_channel_last(const tutti_onnx *o, tutti_value x, int32_t rank)
{
    int64_t order[TUTTI_MAX_RANK] = {0};
    for (int32_t k = 1; k < rank; k++)
        order[k] = k + 1 < rank ? k + 1 : 1;
    return rank > 2 ? onnx_transpose(o, x, order, rank) : x;
}

/* TensorProto.DataType of a dtype; 0: ONNX has none. */
static inline int64_t onnx_dtype(int64_t dtype)
{
    static const int8_t types[] = {
        [TUTTI_F32] = 1,  [TUTTI_U8] = 2,   [TUTTI_I32] = 6,  [TUTTI_I64] = 7,
        [TUTTI_BOOL] = 9, [TUTTI_F16] = 10, [TUTTI_F64] = 11, [TUTTI_BF16] = 16};
    return dtype >= 0 && dtype < (int64_t)(sizeof types) ? types[dtype] : 0;
}

static inline tutti_value onnx_cast(const tutti_onnx *o, tutti_value x, int64_t dtype)
{
    const tutti_attr to = tutti_attr_i("to", onnx_dtype(dtype));
    if (onnx_dtype(dtype) == 0) {
        (void)(o->graph->fail)(o->graph, /* Check has a macro of that name */
                               TUTTI_E_UNSUPPORTED, "ONNX's opset 17 has no such dtype");
        return 0;
    }
    return onnx_op(o, "Cast", &x, 1, &to, 1);
}

/* An operator along attribute `axis`. */
static inline tutti_value onnx_along(const tutti_onnx *o, const char *type, int64_t axis)
{
    const tutti_attr attr = tutti_attr_i("axis", axis);
    return onnx_op(o, type, o->in, o->nin, &attr, 1);
}

#endif
