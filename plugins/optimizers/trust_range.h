/* trust_range.h - two passes over one whole weight, for optimizers with a trust ratio: its norm over that of its step.
 *
 * An optimizer NAME has NAME_step.h, which C and device code share:
 *   NAME_step           the coefficients of one update
 *   NAME_at             computes them from the settings and what the host says of the update, which has the norm of
 *                       all gradients where the settings ask for it (TRUST_NORM)
 *   NAME_look           one element of the first pass: moves its state; what is squared and summed
 *   NAME_ratio          the ratio, from the two norms
 *   NAME_move           one element of the second pass: the new weight
 * `kind` is constant in each loop; state pointers that a kind does not use are not read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_RANGE_H
#define TRUST_RANGE_H

#include "../common/squares_sum.h"
#include "optimizer.h"
#include "trust_step.h"
#include "tutti/isa.h"

/* One weight, and the sums of its pieces of SQUARES_PIECE elements: of the weight's squares, of the step's. */
typedef struct trust_range {
    int64_t n;
    float *w;
    const float *g;
    float *slot[TRUST_SLOTS]; /* NULL: the kind has no such state */
    double *parts;            /* 2 a piece */
    uint16_t *low;            /* NULL: no copy in 16 bits */
    int32_t low_dtype;
    int32_t kind;
} trust_range;

static inline int64_t trust_pieces(int64_t n)
{
    return (n + SQUARES_PIECE - 1) / SQUARES_PIECE;
}

/* Declares both passes over piece `p`, once per instruction set. */
#define TRUST_DECLARE(name)                                                                    \
    void name##_look_piece(const trust_range *r, const name##_step *c, int64_t p);             \
    void name##_move_piece(const trust_range *r, const name##_step *c, float ratio,            \
                           int64_t p);                                                         \
    TUTTI_ISA_VARIANTS(name##_look_piece);                                                     \
    TUTTI_ISA_VARIANTS(name##_move_piece)

/* Defines them. */
#define TRUST_DEFINE(name)                                                                     \
    static inline __attribute__((always_inline)) void name##_look_loop(                        \
        int64_t n, const float *restrict w, const float *restrict g, float *restrict a,        \
        float *restrict b, double *restrict sums, const name##_step *c, const int kind)        \
    {                                                                                          \
        const name##_step k = *c;                                                              \
        double of_w[SQUARES_LANES] = {0.0}, of_step[SQUARES_LANES] = {0.0};                    \
        for (int64_t i = 0; i < n; i += SQUARES_LANES) {                                       \
            const int64_t some = n - i < SQUARES_LANES ? n - i : SQUARES_LANES;                \
            for (int64_t t = 0; t < some; t++) {                                               \
                const trust_pair x =                                                           \
                    name##_look(w[i + t], g[i + t], a + i + t, b + i + t, k, kind);            \
                of_w[t] += squares_term(x.w, 0.0f);                                            \
                of_step[t] += squares_term(x.step, 0.0f);                                      \
            }                                                                                  \
        }                                                                                      \
        sums[0] = squares_pair(of_w);                                                          \
        sums[1] = squares_pair(of_step);                                                       \
    }                                                                                          \
                                                                                               \
    void name##_look_piece(const trust_range *r, const name##_step *c, int64_t p)              \
    {                                                                                          \
        const int64_t at = p * SQUARES_PIECE;                                                  \
        const int64_t n = r->n - at < SQUARES_PIECE ? r->n - at : SQUARES_PIECE;               \
        float *a = (r->slot[0] ? r->slot[0] : r->w) + at;                                      \
        float *b = (r->slot[1] ? r->slot[1] : r->w) + at;                                      \
        if (r->kind == 0)                                                                      \
            name##_look_loop(n, r->w + at, r->g + at, a, b, r->parts + 2 * p, c, 0);           \
        else                                                                                   \
            name##_look_loop(n, r->w + at, r->g + at, a, b, r->parts + 2 * p, c, 1);           \
    }                                                                                          \
                                                                                               \
    static inline __attribute__((always_inline)) void name##_move_loop(                        \
        int64_t n, float *restrict w, const float *restrict g, float *restrict a,              \
        float *restrict b, const name##_step *c, float ratio, const int kind)                  \
    {                                                                                          \
        const name##_step k = *c;                                                              \
        for (int64_t i = 0; i < n; i++)                                                        \
            w[i] = name##_move(w[i], g[i], a + i, b + i, k, ratio, kind);                      \
    }                                                                                          \
                                                                                               \
    void name##_move_piece(const trust_range *r, const name##_step *c, float ratio, int64_t p) \
    {                                                                                          \
        const int64_t at = p * SQUARES_PIECE;                                                  \
        const int64_t n = r->n - at < SQUARES_PIECE ? r->n - at : SQUARES_PIECE;               \
        float *a = (r->slot[0] ? r->slot[0] : r->w) + at;                                      \
        float *b = (r->slot[1] ? r->slot[1] : r->w) + at;                                      \
        if (r->kind == 0)                                                                      \
            name##_move_loop(n, r->w + at, r->g + at, a, b, c, ratio, 0);                      \
        else                                                                                   \
            name##_move_loop(n, r->w + at, r->g + at, a, b, c, ratio, 1);                      \
        if (r->low)                                                                            \
            optimizer_to_low(n, r->w + at, r->low + at, r->low_dtype);                         \
    }                                                                                          \
    _Static_assert(sizeof(name##_step) > 0, #name)

#endif
