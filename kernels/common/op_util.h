/* op_util.h - what op descriptors share: checks, threads, descriptor macros. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_UTIL_H
#define KERNELS_COMMON_OP_UTIL_H

#include "common/op_checks.h"
#include "common/op_emit.h"
#include "tutti/op.h"
#include "tutti/ops.h"

#include <stddef.h>

/* Before a loop whose rounds do not touch each other: an output that lies where an input lay does
 * so element by element. */
#define OP_LOOP _Pragma("omp simd")
#if defined(__clang__) /* which says so where it cannot */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* Elements below which one thread is faster than waking the others. */
enum { OP_SERIAL_BELOW = 32768 };

/* How many threads `elements` of work are worth. */
static inline int op_threads(const tutti_op_call *c, int64_t elements)
{
    return elements < OP_SERIAL_BELOW ? 1 : c->threads;
}

/* The part [*ret_first, *ret_first + result) of n that thread k of `threads` does: fixed by the
 * numbers alone, so that results are too.  Cuts at multiples of 16. */
static inline int64_t op_chunk(int64_t n, int k, int threads, int64_t *ret_first)
{
    const int64_t part = ((n + threads - 1) / threads + 15) / 16 * 16;
    const int64_t first = part * k < n ? part * k : n;
    *ret_first = first;
    return first + part < n ? part : n - first;
}

/* Into how many parts `elements` of work are cut whose sums are joined: by the shapes alone, so that no
 * number of threads changes a bit. */
enum { OP_MOST_PARTS = 64 };

static inline int op_parts(int64_t elements)
{
    const int64_t parts = elements / OP_SERIAL_BELOW;
    return parts < 1 ? 1 : parts > OP_MOST_PARTS ? OP_MOST_PARTS : (int)parts;
}

/* sums[k] += those of the other parts, each `size` numbers behind the one before. */
static inline void op_join_parts(double *sums, int parts, uint64_t size, int64_t n)
{
    for (int t = 1; t < parts; t++)
        for (int64_t k = 0; k < n; k++)
            sums[k] += sums[(uint64_t)t * size + (uint64_t)k];
}

static inline int64_t op_index_at(const void *data, int32_t dtype, int64_t i)
{
    return dtype == TUTTI_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

/* Defines <op>_traits, which the descriptor names: what compilers ask, by the last words of the constants
 * of tutti/op_traits.h.  Further members follow by name. */
#define OP_TRAITS(op, precision_, batch_, fold_, rematerialize_, work_, pointwise_, role_,     \
                  ...)                                                                         \
    static const tutti_op_traits op##_traits = {.struct_size = sizeof(tutti_op_traits),        \
                                                .precision = TUTTI_AUTOCAST_##precision_,      \
                                                .batch = TUTTI_BATCH_##batch_,                 \
                                                .fold = TUTTI_FOLD_##fold_,                    \
                                                .rematerialize =                               \
                                                    TUTTI_REMATERIALIZE_##rematerialize_,      \
                                                .work = TUTTI_WORK_##work_,                    \
                                                .pointwise = TUTTI_POINTWISE_##pointwise_,     \
                                                .role = TUTTI_ROLE_##role_,                    \
                                                __VA_ARGS__}

/* Of operations that work number by number, in device code of fused groups too. */
#define OP_POINTWISE(op, precision, ...)                                                       \
    OP_TRAITS(op, precision, WHOLE, CONSTANTS, SAME, UNCOUNTED, CODE, OTHER, __VA_ARGS__)
/* Of those that give F32 and have nothing about them that a compiler could use. */
#define OP_PLAIN(op, ...)                                                                      \
    OP_TRAITS(op, F32, WHOLE, CONSTANTS, NEVER, UNCOUNTED, NONE, OTHER, __VA_ARGS__)

/* ---- identities ---- */

/* Operand 0, where its shape and dtype stay. */
static inline uint32_t op_same(const tutti_op_call *c, const void *const *constant)
{
    (void)c, (void)constant;
    return 1;
}

/* Operand k is an F32 constant all of whose elements are `value`. */
static inline uint32_t op_is_all(const tutti_op_call *c, const void *const *constant,
                                 uint32_t k, float value)
{
    if (!constant[k] || c->in[k].dtype != TUTTI_F32)
        return 0;
    for (int64_t i = 0, n = tutti_numel(&c->in[k]); i < n; i++)
        if (((const float *)constant[k])[i] != value)
            return 0;
    return 1;
}

/* Defines a rule: operand 0 where operand 1 is all `value`, and with `either` the other way round. */
#define OP_NEUTRAL(name, value, either)                                                        \
    static inline uint32_t name(const tutti_op_call *c, const void *const *constant)           \
    {                                                                                          \
        return op_is_all(c, constant, 1, (value)) |                                            \
               ((either) ? op_is_all(c, constant, 0, (value)) << 1 : 0);                       \
    }
OP_NEUTRAL(op_unit_either, 1.0f, 1)
OP_NEUTRAL(op_unit_second, 1.0f, 0)
OP_NEUTRAL(op_zero_either, 0.0f, 1)
OP_NEUTRAL(op_zero_second, 0.0f, 0)

/* Defines tutti_op_<op> with one output; the other members by name.  A table of fields tells the
 * size of the attributes with OP_ATTR(type, fields). */
#define OP_DEFINE(op, ...)                                                                     \
    extern const tutti_op tutti_op_##op;                                                       \
    const tutti_op tutti_op_##op = {.struct_size = sizeof(tutti_op),                           \
                                    .name = #op,                                               \
                                    .nout = 1,                                                 \
                                    .traits = &op##_traits,                                    \
                                    __VA_ARGS__}
#define OP_ATTR(type, table)                                                                   \
    .attr_size = sizeof(type), .fields = (table), .nfields = sizeof(table) / sizeof *(table)

#define OP_FIELD_I64(type, member, value)                                                      \
    {                                                                                          \
#member, TUTTI_ATTR_I64, (uint32_t)offsetof(type, member), value, 0.0                  \
    }
#define OP_FIELD_F64(type, member, value)                                                      \
    {                                                                                          \
#member, TUTTI_ATTR_F64, (uint32_t)offsetof(type, member), 0, value                    \
    }
#define OP_FIELD_LIST(type, member)                                                            \
    {                                                                                          \
#member, TUTTI_ATTR_LIST, (uint32_t)offsetof(type, member), 0, 0.0                     \
    }

#endif
