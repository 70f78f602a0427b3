/* pointwise_buffers.c - the buffers of a fused group by liveness: each is taken again when nothing reads it any more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/precision.h"
#include "graph/runtime/pointwise_kernel.h"

/* A buffer for each input, two for each cast. */
enum { MAX_BUFFERS = POINTWISE_MAX_IN + 2 * POINTWISE_MAX_OPS };

/* The last op that reads what each buffer keeps. */
typedef struct buffers {
    uint32_t last_read[MAX_BUFFERS];
    uint32_t n;
} buffers;

/* One for what op `k` makes and op `last` reads last. */
static int32_t take(buffers *b, uint32_t k, uint32_t last)
{
    uint32_t at = 0;
    while (at < b->n && b->last_read[at] >= k)
        at++;
    b->n += at == b->n;
    b->last_read[at] = last;
    return (int32_t)at;
}

bool pointwise_op_in_place(const pointwise_op *l, uint32_t j)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < l->node->nin; i++)
        reads += l->from[i] == l->from[j];
    return reads == 1 && (l->node->op->cpu->inplace >> j & 1);
}

/* The buffer of an operand that only op `k` still reads and whose place its result may take; -1: there is none. */
static int32_t operand_buffer(const pointwise_kernel *c, const buffers *b, uint32_t k)
{
    const pointwise_op *l = &c->ops[k];
    for (uint32_t j = 0; j < l->node->nin; j++) {
        const uint32_t o = l->from[j];
        const int32_t at = o < POINTWISE_MAX_IN ? c->whole[o] ? -1 : c->in_buffer[o]
                                                : c->ops[o - POINTWISE_MAX_IN].buffer;
        /* A cast has written its bits elsewhere before it reads them back. */
        if (at >= 0 && b->last_read[at] == k &&
            (l->cast != TUTTI_DTYPE_NONE || pointwise_op_in_place(l, j)))
            return at;
    }
    return -1;
}

static int32_t result_buffer(const pointwise_kernel *c, buffers *b, uint32_t k)
{
    const pointwise_op *l = &c->ops[k];
    const int32_t at = operand_buffer(c, b, k);
    if (at < 0)
        return take(b, k, l->last_read);
    b->last_read[at] = l->last_read;
    return at;
}

/* Are the result's f32 numbers nowhere but in a buffer? */
static bool needs_buffer(const pointwise_kernel *c, uint32_t k)
{
    const pointwise_op *l = &c->ops[k];
    if (l->cast == TUTTI_F32)
        return false;
    if (dtype_is_half(l->cast))
        return l->last_read > k;
    return l->out < 0 || c->out_dtype[l->out] != TUTTI_F32;
}

void pointwise_buffers_assign(pointwise_kernel *c)
{
    buffers b = {{0}, 0};
    for (uint32_t k = 0; k < c->nin; k++)
        c->in_buffer[k] = -1;
    for (uint32_t k = 0; k < c->nops; k++) {
        pointwise_op *l = &c->ops[k];
        for (uint32_t j = 0; j < l->node->nin; j++)
            if (l->first_uses >> j & 1 && c->in_dtype[l->from[j]] != TUTTI_F32)
                c->in_buffer[l->from[j]] = take(&b, k, c->last_read[l->from[j]]);
        l->bits = dtype_is_half(l->cast) && l->out < 0 ? take(&b, k, k) : -1;
        l->buffer = needs_buffer(c, k) ? result_buffer(c, &b, k) : -1;
    }
    c->nbuffers = b.n;
}
