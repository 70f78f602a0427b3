/* op_util.h - what op descriptors share: checks, threads, SIMD dispatch, descriptor macros. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_UTIL_H
#define KERNELS_COMMON_OP_UTIL_H

#include "tutti/op.h"
#include "tutti/ops.h"

#include <stddef.h>

/* Loops marked so are compiled for several CPUs and chosen at load: by instruction set, because a
 * CPU by name (arch=haswell) would match that CPU alone.  Sanitizers and clang 14 get
 * the plain one: their run-time resolvers do not work there. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OP_SIMD __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define OP_SIMD
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
static inline int64_t op_share(int64_t n, int k, int threads, int64_t *ret_first)
{
    const int64_t part = ((n + threads - 1) / threads + 15) / 16 * 16;
    const int64_t first = part * k < n ? part * k : n;
    *ret_first = first;
    return first + part < n ? part : n - first;
}

static inline tutti_status op_want_f32(const char *op, const char *input, const tutti_desc *d,
                                       tutti_error *err)
{
    char text[96];
    if (d->dtype == TUTTI_F32)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "%s: %s is %s, want F32", op, input,
                      tutti_desc_text(d, text, sizeof text));
}

static inline tutti_status op_want_rank(const char *op, const char *input, const tutti_desc *d,
                                        int32_t rank, tutti_error *err)
{
    char text[96];
    if (d->rank == rank)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, want rank %d", op, input,
                      tutti_desc_text(d, text, sizeof text), rank);
}

static inline tutti_status op_want_same(const char *op, const char *a_name, const tutti_desc *a,
                                        const char *b_name, const tutti_desc *b,
                                        tutti_error *err)
{
    char ta[96], tb[96];
    if (tutti_same_shape(a, b))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s and %s is %s, want the same shape", op,
                      a_name, tutti_desc_text(a, ta, sizeof ta), b_name,
                      tutti_desc_text(b, tb, sizeof tb));
}

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
