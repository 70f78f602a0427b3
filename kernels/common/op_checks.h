/* op_checks.h - what op descriptors want of their operands: dtypes, ranks, shapes, axes, with the sentences. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_COMMON_OP_CHECKS_H
#define KERNELS_COMMON_OP_CHECKS_H

#include "tutti/op.h"

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

/* An attribute that counts axes, negative ones from the end, as an index. */
static inline tutti_status op_axis(const char *op, int64_t axis, int32_t rank,
                                   int32_t *ret_axis, tutti_error *err)
{
    if (axis < -rank || axis >= rank)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: axis %lld, want one of rank %d", op,
                          (long long)axis, rank);
    *ret_axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return TUTTI_OK;
}

static inline int op_is_index(int32_t dtype)
{
    return dtype == TUTTI_I32 || dtype == TUTTI_I64;
}

static inline tutti_status op_want_index(const char *op, const char *input, const tutti_desc *d,
                                         tutti_error *err)
{
    char text[96];
    if (op_is_index(d->dtype))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "%s: %s is %s, want I32 or I64", op, input,
                      tutti_desc_text(d, text, sizeof text));
}

#endif
