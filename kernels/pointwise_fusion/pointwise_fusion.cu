/* pointwise_fusion.cu - pointwise fusion on the GPU: a group of elementwise operations in one launch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/vector.cuh"
#include "pointwise_fusion/pointwise_fusion.h"
#include "pointwise_maths.h"

struct alignas(16) vector {
    float x[FUSION_VECTOR];
};

struct operands {
    cuda_tensor in[TUTTI_OP_MAX_IN];
    cuda_tensor out[TUTTI_OP_MAX_OUT];
};

/* Elements [k, k + 4) of n; the last vector may be short. */
__device__ static vector load(const cuda_tensor &t, int64_t k, int64_t n)
{
    vector g = {};
    if (k + FUSION_VECTOR <= n)
        cuda_load<FUSION_VECTOR>(t, k, g.x);
    else
        for (int i = 0; i < FUSION_VECTOR; i++)
            g.x[i] = k + i < n ? cuda_get(t, k + i) : 0.0f;
    return g;
}

__device__ static void store(const cuda_tensor &t, int64_t k, int64_t n, const vector &g)
{
    if (k + FUSION_VECTOR <= n)
        cuda_store<FUSION_VECTOR>(t, k, g.x);
    else
        for (int i = 0; i < FUSION_VECTOR && k + i < n; i++)
            cuda_set(t, k + i, g.x[i]);
}

/* One thread's view: what it works on, and its own place in every slot. */
struct view {
    const fusion_program &p;
    const operands &o;
    vector *slots;
    int64_t k;
    vector last;
};

__device__ static vector fetch(const view &v, int from)
{
    if (from == FUSION_LAST)
        return v.last;
    if (from >= FUSION_SLOT)
        return v.slots[(from - FUSION_SLOT) * FUSION_BLOCK];
    if (!(v.p.whole >> from & 1u))
        return load(v.o.in[from], v.k, v.p.n);
    vector g;
    const float same = cuda_get(v.o.in[from], 0);
    for (int i = 0; i < FUSION_VECTOR; i++)
        g.x[i] = same;
    return g;
}

#define EACH(value)                                                                            \
    for (int i = 0; i < FUSION_VECTOR; i++)                                                    \
        y.x[i] = (value);                                                                      \
    break
#define UNARY(op)                                                                              \
    case OPCODE_##op:                                                                          \
        EACH(op##_f32(a.x[i]));
#define UNARY_ATTR(op, type)                                                                   \
    case OPCODE_##op:                                                                          \
        EACH(op##_f32(a.x[i], reinterpret_cast<const type *>(c.attr)));
#define BINARY(op)                                                                             \
    case OPCODE_##op:                                                                          \
        EACH(op##_f32(a.x[i], b.x[i]));
#define BINARY_ATTR(op, type)                                                                  \
    case OPCODE_##op:                                                                          \
        EACH(op##_f32(a.x[i], b.x[i], reinterpret_cast<const type *>(c.attr)));

/* All threads take the same branches. */
__device__ static vector compute(const view &v, const fusion_instruction &c)
{
    const vector a = fetch(v, c.from[0]), b = c.nin > 1 ? fetch(v, c.from[1]) : a;
    vector y = a;
    switch (c.op) {
        POINTWISE_OPS(UNARY, UNARY_ATTR, BINARY, BINARY_ATTR)
    case OPCODE_cast:
        if (c.dtype != FUSION_NONE)
            EACH(cuda_widen(cuda_narrow(a.x[i], c.dtype), c.dtype));
        break;
    case OPCODE_where: {
        const vector other = fetch(v, c.from[2]);
        EACH(a.x[i] != 0.0f ? b.x[i] : other.x[i]);
    }
    default: /* copy */
        break;
    }
    return y;
}

CUDA_KERNEL(pointwise_fusion_cuda)(fusion_program p, operands o)
{
    CUDA_DYNAMIC_SHARED(vector, slots);
    view v = {p, o, slots + threadIdx.x, 0, {}};
    CUDA_EACH(g, (p.n + FUSION_VECTOR - 1) / FUSION_VECTOR)
    {
        v.k = g * FUSION_VECTOR;
        for (uint32_t l = 0; l < p.nops; l++) {
            const fusion_instruction &c = p.code[l];
            v.last = compute(v, c);
            if (c.slot != FUSION_NONE)
                v.slots[(int)c.slot * FUSION_BLOCK] = v.last;
            if (c.out != FUSION_NONE)
                store(o.out[c.out], v.k, p.n, v.last);
        }
    }
}
CUDA_ENTRY(pointwise_fusion_cuda);
