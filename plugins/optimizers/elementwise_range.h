/* elementwise_range.h - the loop over a range of parameters, for optimizers with one formula an element.
 *
 * An optimizer NAME has NAME_step.h, which C and device code share:
 *   NAME_step           the coefficients of one update
 *   NAME_at             computes them from the settings and what the host says of the update
 *   NAME_move           one element: the new weight, from the weight, its gradient and its state
 *   NAME_variants       how many kinds of NAME_move `variant` selects; each has a loop of its own
 * State pointers that a variant does not use are not read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELEMENTWISE_RANGE_H
#define ELEMENTWISE_RANGE_H

#include "optimizer.h"
#include "tutti/isa.h"

enum { ELEMENTWISE_SLOTS = 3, ELEMENTWISE_SETTINGS = 6 };

/* n weights, gradients and numbers of state; `low` where there is a copy in 16 bits. */
typedef struct elementwise_range {
    int64_t n;
    float *w;
    const float *g;
    float *slot[ELEMENTWISE_SLOTS];
    uint16_t *low;
    int32_t low_dtype;
    int32_t variant;
} elementwise_range;

/* Declares the update of a range, once per instruction set. */
#define ELEMENTWISE_DECLARE(name)                                                              \
    void name##_range(const elementwise_range *r, const name##_step *c);                       \
    TUTTI_ISA_VARIANTS(name##_range)

/* Defines it. */
#define ELEMENTWISE_DEFINE(name)                                                               \
    static inline __attribute__((always_inline)) void name##_loop(                             \
        int64_t n, float *restrict w, const float *restrict g, float *restrict a,              \
        float *restrict b, float *restrict d, const name##_step *c, const int variant)         \
    {                                                                                          \
        const name##_step k = *c;                                                              \
        for (int64_t i = 0; i < n; i++)                                                        \
            w[i] = name##_move(w[i], g[i], a + i, b + i, d + i, k, variant);                   \
    }                                                                                          \
                                                                                               \
    void name##_range(const elementwise_range *r, const name##_step *c)                        \
    {                                                                                          \
        const int64_t block = optimizer_block(r->n, r->low);                                   \
        float *s[ELEMENTWISE_SLOTS];                                                           \
        for (int k = 0; k < ELEMENTWISE_SLOTS; k++)                                            \
            s[k] = r->slot[k] ? r->slot[k] : r->w; /* not read */                              \
        for (int64_t i = 0; i < r->n; i += block) {                                            \
            const int64_t n = r->n - i < block ? r->n - i : block;                             \
            float *const w = r->w + i, *const x = s[0] + i, *const y = s[1] + i,               \
                         *const z = s[2] + i;                                                  \
            if (name##_variants == 1 || r->variant == 0) /* constants: a loop each */          \
                name##_loop(n, w, r->g + i, x, y, z, c, 0);                                    \
            else if (name##_variants > 1 && r->variant == 1)                                   \
                name##_loop(n, w, r->g + i, x, y, z, c, 1);                                    \
            else if (name##_variants > 2 && r->variant == 2)                                   \
                name##_loop(n, w, r->g + i, x, y, z, c, 2);                                    \
            else if (name##_variants > 3 && r->variant == 3)                                   \
                name##_loop(n, w, r->g + i, x, y, z, c, 3);                                    \
            if (r->low)                                                                        \
                optimizer_to_low(n, w, r->low + i, r->low_dtype);                              \
        }                                                                                      \
    }                                                                                          \
    _Static_assert(sizeof(name##_step) > 0, #name)

#endif
