/* chain.cu - a chain of elementwise operations in one sweep, on the GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chain/chain.h"
#include "common/cuda/vector.cuh"
#include "pointwise_maths.h"

struct alignas(16) group {
    float x[CHAIN_GROUP];
};

struct operands {
    cuda_tensor in[TUTTI_OP_MAX_IN];
    cuda_tensor out[TUTTI_OP_MAX_OUT];
};

/* Elements [k, k + 4) of n; the last group may be short. */
__device__ static group load(const cuda_tensor &t, int64_t k, int64_t n)
{
    group g = {};
    if (k + CHAIN_GROUP <= n)
        cuda_load<CHAIN_GROUP>(t, k, g.x);
    else
        for (int i = 0; i < CHAIN_GROUP; i++)
            g.x[i] = k + i < n ? cuda_get(t, k + i) : 0.0f;
    return g;
}

__device__ static void store(const cuda_tensor &t, int64_t k, int64_t n, const group &g)
{
    if (k + CHAIN_GROUP <= n)
        cuda_store<CHAIN_GROUP>(t, k, g.x);
    else
        for (int i = 0; i < CHAIN_GROUP && k + i < n; i++)
            cuda_set(t, k + i, g.x[i]);
}

/* One thread's view: what it works on, and its own place in every slot. */
struct view {
    const chain_program &p;
    const operands &o;
    group *slots;
    int64_t k;
    group last;
};

__device__ static group fetch(const view &v, int from)
{
    if (from == CHAIN_LAST)
        return v.last;
    if (from >= CHAIN_SLOT)
        return v.slots[(from - CHAIN_SLOT) * CHAIN_BLOCK];
    if (!(v.p.whole >> from & 1u))
        return load(v.o.in[from], v.k, v.p.n);
    group g;
    const float same = cuda_get(v.o.in[from], 0);
    for (int i = 0; i < CHAIN_GROUP; i++)
        g.x[i] = same;
    return g;
}

#define EACH(value)                                                                            \
    for (int i = 0; i < CHAIN_GROUP; i++)                                                      \
        y.x[i] = (value);                                                                      \
    break
#define UNARY(op)                                                                              \
    case CHAIN_##op:                                                                           \
        EACH(op##_f32(a.x[i]));
#define UNARY_ATTR(op, type)                                                                   \
    case CHAIN_##op:                                                                           \
        EACH(op##_f32(a.x[i], reinterpret_cast<const type *>(c.attr)));
#define BINARY(op)                                                                             \
    case CHAIN_##op:                                                                           \
        EACH(op##_f32(a.x[i], b.x[i]));
#define BINARY_ATTR(op, type)                                                                  \
    case CHAIN_##op:                                                                           \
        EACH(op##_f32(a.x[i], b.x[i], reinterpret_cast<const type *>(c.attr)));

/* All threads take the same branches. */
__device__ static group compute(const view &v, const chain_code &c)
{
    const group a = fetch(v, c.from[0]), b = c.nin > 1 ? fetch(v, c.from[1]) : a;
    group y = a;
    switch (c.op) {
        POINTWISE_OPS(UNARY, UNARY_ATTR, BINARY, BINARY_ATTR)
    case CHAIN_cast:
        if (c.dtype != CHAIN_NONE)
            EACH(cuda_widen(cuda_narrow(a.x[i], c.dtype), c.dtype));
        break;
    case CHAIN_where: {
        const group other = fetch(v, c.from[2]);
        EACH(a.x[i] != 0.0f ? b.x[i] : other.x[i]);
    }
    default: /* copy */
        break;
    }
    return y;
}

CUDA_KERNEL(chain_cuda)(chain_program p, operands o)
{
    CUDA_DYNAMIC_SHARED(group, slots);
    view v = {p, o, slots + threadIdx.x, 0, {}};
    CUDA_EACH(g, (p.n + CHAIN_GROUP - 1) / CHAIN_GROUP)
    {
        v.k = g * CHAIN_GROUP;
        for (uint32_t l = 0; l < p.nlinks; l++) {
            const chain_code &c = p.code[l];
            v.last = compute(v, c);
            if (c.slot != CHAIN_NONE)
                v.slots[(int)c.slot * CHAIN_BLOCK] = v.last;
            if (c.out != CHAIN_NONE)
                store(o.out[c.out], v.k, p.n, v.last);
        }
    }
}
CUDA_ENTRY(chain_cuda);
