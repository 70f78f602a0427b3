/* muon_step.h - what of the step is the same on every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MUON_STEP_H
#define MUON_STEP_H

#include "../adam_step.h"

#include <stdint.h>

/* The settings of matrices, as they go to the kernels. */
typedef struct muon_rule {
    double weight_decay;
    double momentum;
    double eps;
    double scale; /* of the learning rate, by the matrix' dimensions */
    int32_t nesterov;
    int32_t reserved;
} muon_rule;

/* Coefficients of one update of a matrix; a gradient is g times factor. */
typedef struct muon_step {
    float rest;   /* 1 - momentum */
    float keep;   /* momentum */
    float follow; /* of the buffer, in the direction */
    float direct; /* of the gradient: the rest */
    float shrink; /* of the weight */
    float rate;
    float eps;
    float factor;
} muon_step;

TUTTI_SHARED muon_step muon_at(muon_rule r, double lr, double factor)
{
    muon_step k;
    k.rest = (float)(1.0 - r.momentum);
    k.keep = (float)r.momentum;
    k.follow = r.nesterov ? (float)r.momentum : 1.0f;
    k.direct = r.nesterov ? (float)(1.0 - r.momentum) : 0.0f;
    k.shrink = (float)(1.0 - lr * r.weight_decay);
    k.rate = (float)(lr * r.scale);
    k.eps = (float)r.eps;
    k.factor = (float)factor;
    return k;
}

/* As a number of 16 bits, in f32. */
TUTTI_SHARED float muon_round(float x)
{
    const uint32_t bits = (uint32_t)tutti_to_bf16(x) << 16;
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    return rounded;
}

/* From a to b by the share t, exact at both ends. */
TUTTI_SHARED float muon_between(float a, float b, float t, float rest)
{
    return t < 0.5f ? a + t * (b - a) : b - (b - a) * rest;
}

/* Moves the buffer; the direction, rounded. */
TUTTI_SHARED float muon_direction(float g, float *buffer, muon_step k)
{
    const float d = k.factor * g, b = muon_between(*buffer, d, k.rest, k.keep);
    *buffer = b;
    return muon_round(muon_between(d, b, k.follow, k.direct));
}

/* What a direction is divided by, from the sum of its squares. */
TUTTI_SHARED float muon_norm(double squares, muon_step k)
{
    const float norm = muon_round((float)sqrt(squares));
    return norm > k.eps ? norm : k.eps;
}

TUTTI_SHARED float muon_move(float w, float direction, muon_step k)
{
    return k.shrink * w - k.rate * direction;
}

/* One product: to = alpha * a b + beta * add, rounded; f32 sums in the order of the inner dimension. */
typedef struct muon_product {
    float *to;        /* rows by cols */
    const float *a;   /* rows by inner */
    const float *b;   /* inner by cols; cols by inner where `transposed` */
    const float *add; /* rows by cols; NULL: nothing */
    int64_t rows;
    int64_t cols;
    int64_t inner;
    float alpha;
    float beta;
    int32_t transposed;
    int32_t reserved;
} muon_product;

/* Scratch memory of one matrix of `small` by `large`, transposed so that small is the lower of its dimensions. */
typedef struct muon_memory {
    float *x;     /* the direction, small by large */
    float *next;  /* the same after a step */
    float *gram;  /* small by small */
    float *both;  /* the same */
    double *sums; /* a piece of SQUARES_PIECE elements */
} muon_memory;

/* Numbers of f32 that it takes, each part at a multiple of 64 bytes. */
TUTTI_SHARED int64_t muon_lines(int64_t n)
{
    return (n + 15) / 16 * 16;
}

TUTTI_SHARED muon_memory muon_lay_out(void *scratch, int64_t small, int64_t large)
{
    muon_memory m;
    m.x = (float *)scratch;
    m.next = m.x + muon_lines(small * large);
    m.gram = m.next + muon_lines(small * large);
    m.both = m.gram + muon_lines(small * small);
    m.sums = (double *)(m.both + muon_lines(small * small));
    return m;
}

#endif
