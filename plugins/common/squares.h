/* squares.h - sums of squares over all weights or gradients, where they are, in one order on every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_SQUARES_H
#define PLUGIN_SQUARES_H

#include "squares_sum.h"
#include "tutti/device_view.h"
#include "tutti/kernel.h"
#include "tutti/tutti.h"

/* A part of one trained weight; sums are of these. */
typedef struct squares_piece {
    uint32_t weight; /* number of tutti.weights/1 */
    uint32_t span;
} squares_piece;

/* The manifest of a plugin that has one declares the kernel "squares" of squares.c and squares_cuda.h. */
typedef struct squares {
    const char *who;
    const tutti_device_view_v1 *view;
    const tutti_kernel_v1 *kernels;
    const tutti_weights_v1 *weights;
    squares_piece *pieces;
    uint32_t *first;  /* by span, and one past the last: its first piece */
    int64_t *table;   /* on the device: offset in the span and length of each piece */
    double *parts;    /* on the device: what the last launch gave, by piece */
    uint64_t version; /* of the model's tree that all this fits */
    uint32_t kernel;
    uint32_t nspans;
    uint32_t count; /* of pieces */
    uint32_t reserved;
} squares;

enum { SQUARES_OF_GRADIENTS, SQUARES_OF_WEIGHTS };

tutti_status squares_init(squares *s, const tutti_host *host, const char *who,
                          tutti_error *err);
/* After the tree has changed; squares_launch does it first. */
tutti_status squares_fit(squares *s, tutti_error *err);
/* parts[k] = sum of the squares of piece k; of differences from less[span], where that is not NULL. */
tutti_status squares_launch(squares *s, int what, float *const *less, tutti_error *err);
void squares_fini(squares *s);

/* The k-th span, when it is trained: 1; 0 when it is not; else a status. */
static inline int32_t squares_span(const tutti_device_view_v1 *v, uint32_t k, tutti_span *ret,
                                   tutti_error *err)
{
    *ret = (tutti_span){.struct_size = sizeof *ret};
    const tutti_status s = v->span(v->ctx, k, ret, err);
    return s ? s : ret->g != NULL;
}

#endif
