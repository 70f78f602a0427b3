/* batch_norm_across.h - batch norm with the statistics of all slots of a batch: what they add up. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_BATCH_NORM_BATCH_NORM_ACROSS_H
#define KERNELS_BATCH_NORM_BATCH_NORM_ACROSS_H

#include "batch_norm/batch_norm.h"

/* Totals, F64 (2 C + 1): two sums by channel, then the rows that went into them. */
static inline tutti_desc batch_norm_totals(const tutti_desc *x)
{
    return (tutti_desc){{2 * batch_norm_channels(x) + 1}, 1, TUTTI_F64};
}

/* Operand 5 of `c`, totals of x (operand 0). */
static inline tutti_status batch_norm_want_totals(const char *op, const tutti_op_call *c,
                                                  tutti_error *err)
{
    const tutti_desc want = batch_norm_totals(&c->in[0]);
    char has[96], wanted[96];
    if (c->in[5].dtype == want.dtype && tutti_same_shape(&c->in[5], &want))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: totals is %s, want %s", op,
                      tutti_desc_text(&c->in[5], has, sizeof has),
                      tutti_desc_text(&want, wanted, sizeof wanted));
}

/* A call without its operand 5: as operations have it that take no totals. */
typedef struct batch_norm_call {
    tutti_op_call call; /* its `in` is `descs` */
    tutti_desc descs[6];
} batch_norm_call;

static inline void batch_norm_without_totals(const tutti_op_call *c, batch_norm_call *ret)
{
    ret->call = *c;
    ret->call.nin = c->nin - 1;
    ret->call.in = ret->descs;
    for (uint32_t k = 0; k + 1 < c->nin; k++)
        ret->descs[k] = c->in[k + (k > 4)];
}

#endif
