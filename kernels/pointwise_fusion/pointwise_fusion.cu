/* pointwise_fusion.cu - pointwise fusion on the GPU: a group of elementwise operations in one launch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/mma.cuh"
#include "common/cuda/vector.cuh"
#include "pointwise_fusion/pointwise_fusion.h"
#include "pointwise_maths.h"

using word = cuda_words<4>;

struct vector {
    float x[FUSION_VECTOR];
};

struct operands {
    cuda_tensor in[TUTTI_OP_MAX_IN];
    cuda_tensor out[TUTTI_OP_MAX_OUT];
};

/* Elements [k, k + 8) of n; the last vector may be short. */
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

/* One thread's view: what it works on, and its own words in shared memory. */
struct view {
    const fusion_program &p;
    const operands &o;
    word *slots, *stage;
    int64_t k;
    vector last;
};

__device__ static vector fetch_slot(const word *from)
{
    vector g;
    for (int h = 0; h < FUSION_SLOT_WORDS; h++) {
        const word half = from[h * FUSION_BLOCK];
        for (int i = 0; i < 4; i++)
            g.x[4 * h + i] = fast_from_bits(half.w[i]);
    }
    return g;
}

__device__ static void keep(word *to, const vector &g)
{
    for (int h = 0; h < FUSION_SLOT_WORDS; h++) {
        word half;
        for (int i = 0; i < 4; i++)
            half.w[i] = fast_bits(g.x[4 * h + i]);
        to[h * FUSION_BLOCK] = half;
    }
}

__device__ static vector fetch_staged(const word *from, int32_t dtype)
{
    if (dtype == TUTTI_F32)
        return fetch_slot(from);
    vector g;
    const word all = *from;
    for (int i = 0; i < 4; i++) {
        g.x[2 * i] = cuda_upcast(all.w[i] & 0xFFFFu, dtype);
        g.x[2 * i + 1] = cuda_upcast(all.w[i] >> 16, dtype);
    }
    return g;
}

/* Sends for what the program reads of elements [k, k + 8), all at once and not operation by operation. */
__device__ static void send_for(const fusion_program &p, const operands &o, word *stage,
                                int64_t k)
{
    for (uint32_t j = 0; j < p.nin && k + FUSION_VECTOR <= p.n; j++) {
        if (p.at[j] == FUSION_NONE)
            continue;
        const bool wide = o.in[j].dtype == TUTTI_F32;
        const uint16_t *from = static_cast<const uint16_t *>(o.in[j].data) + (wide ? 2 * k : k);
        word *to = stage + (int)p.at[j] * FUSION_BLOCK;
        cuda_copy_begin(reinterpret_cast<uint16_t *>(to), from, true);
        if (wide)
            cuda_copy_begin(reinterpret_cast<uint16_t *>(to + FUSION_BLOCK), from + 8, true);
    }
    cuda_copy_commit();
}

__device__ static vector fetch(const view &v, int from)
{
    if (from == FUSION_LAST)
        return v.last;
    if (from >= FUSION_SLOT)
        return fetch_slot(v.slots + (from - FUSION_SLOT) * FUSION_SLOT_WORDS * FUSION_BLOCK);
    if (v.p.at[from] != FUSION_NONE && v.k + FUSION_VECTOR <= v.p.n)
        return fetch_staged(v.stage + (int)v.p.at[from] * FUSION_BLOCK, v.o.in[from].dtype);
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

#define TERNARY(op)                                                                            \
    case OPCODE_##op: {                                                                        \
        const vector z = fetch(v, c.from[2]);                                                  \
        EACH(op##_f32(a.x[i], b.x[i], z.x[i]));                                                \
    }
#define TERNARY_ATTR(op, type)                                                                 \
    case OPCODE_##op: {                                                                        \
        const vector z = fetch(v, c.from[2]);                                                  \
        EACH(op##_f32(a.x[i], b.x[i], z.x[i], reinterpret_cast<const type *>(c.attr)));        \
    }

/* Operations of plugins, of a build by pointwise_compile.c. */
#ifdef POINTWISE_MORE
#define OPCODE_MORE(op) OPCODE_##op,
#define OPCODE_MORE_ATTR(op, type) OPCODE_##op,
enum {
    OPCODE_before_more = OPCODES - 1,
    POINTWISE_MORE(OPCODE_MORE, OPCODE_MORE_ATTR, OPCODE_MORE, OPCODE_MORE_ATTR, OPCODE_MORE,
                   OPCODE_MORE_ATTR)
};
#else
#define POINTWISE_MORE(OP1, OP1_ATTR, OP2, OP2_ATTR, OP3, OP3_ATTR)
#endif

/* All threads take the same branches. */
__device__ static vector compute(const view &v, const fusion_instruction &c)
{
    const vector a = fetch(v, c.from[0]), b = c.nin > 1 ? fetch(v, c.from[1]) : a;
    vector y = a;
    switch (c.op) {
        POINTWISE_OPS(UNARY, UNARY_ATTR, BINARY, BINARY_ATTR)
        POINTWISE_MORE(UNARY, UNARY_ATTR, BINARY, BINARY_ATTR, TERNARY, TERNARY_ATTR)
    case OPCODE_cast:
        if (c.dtype != FUSION_NONE)
            EACH(cuda_upcast(cuda_downcast(a.x[i], c.dtype), c.dtype));
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

__device__ static void interpret(view &v)
{
    for (uint32_t l = 0; l < v.p.nops; l++) {
        const fusion_instruction &c = v.p.code[l];
        v.last = compute(v, c);
        if (c.slot != FUSION_NONE)
            keep(v.slots + (int)c.slot * FUSION_SLOT_WORDS * FUSION_BLOCK, v.last);
        if (c.out != FUSION_NONE)
            store(v.o.out[c.out], v.k, v.p.n, v.last);
    }
}

/* While a thread computes a vector, its next one is on its way. */
CUDA_KERNEL(__launch_bounds__(FUSION_BLOCK, FUSION_BLOCKS) pointwise_fusion_cuda)
(fusion_program p, operands o)
{
    CUDA_DYNAMIC_SHARED(word, shared);
    word *const slots = shared + threadIdx.x;
    word *const stages = slots + p.slots * FUSION_SLOT_WORDS * FUSION_BLOCK;
    const int64_t first = ((int64_t)blockIdx.x * FUSION_BLOCK + threadIdx.x) * FUSION_VECTOR,
                  step = (int64_t)gridDim.x * FUSION_BLOCK * FUSION_VECTOR;
    uint32_t stage = 0;
    view v = {p, o, slots, stages, first, {}};
    send_for(p, o, stages, first);
    for (; v.k < p.n; v.k += step) {
        v.stage = stages + stage;
        stage = p.staged * FUSION_BLOCK - stage;
        send_for(p, o, stages + stage, v.k + step);
        cuda_copy_wait<1>();
        interpret(v);
    }
    cuda_copy_wait<0>();
}
CUDA_ENTRY(pointwise_fusion_cuda);
