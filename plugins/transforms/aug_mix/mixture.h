/* mixture.h - a picture and chains of changes of it, in shares that are given. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AUG_MIX_MIXTURE_H
#define AUG_MIX_MIXTURE_H

#include "../common/policy.h"

#include <string.h>

enum { MIXTURE_BINS = 10, MIXTURE_DEPTH = 100 };

typedef struct mixture_change {
    policy_op op;
    int32_t bin; /* of MIXTURE_BINS */
    int32_t minus;
} mixture_change;

/* One picture being mixed; every part has room for it. */
typedef struct mixture {
    float *sum;
    uint8_t *made, *scratch;
} mixture;

/* The picture itself. */
static inline void mixture_begin(const mixture *m, const picture *x, float share)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        m->sum[i] = share * x->pixels[i];
}

/* `count` changes one after the other. */
static inline void mixture_add(const mixture *m, const picture *x, float share,
                               const mixture_change *chain, int64_t count,
                               const warp_options *o)
{
    const int64_t n = x->h * x->w * x->c;
    const picture made = {m->made, x->h, x->w, x->c};
    memcpy(m->made, x->pixels, (size_t)n);
    for (int64_t k = 0; k < count; k++) {
        const policy_op op = chain[k].op;
        const double v = policy_magnitude(&policy_mixed, op, chain[k].bin, MIXTURE_BINS, x);
        policy_change(&made, op, chain[k].minus ? -v : v, o, m->scratch);
    }
    for (int64_t i = 0; i < n; i++) {
        const float part = share * m->made[i];
        m->sum[i] += part;
    }
}

static inline void mixture_end(const mixture *m, const picture *x)
{
    for (int64_t i = 0; i < x->h * x->w * x->c; i++)
        x->pixels[i] = (uint8_t)(m->sum[i] >= 255.0f ? 255.0f : m->sum[i]);
}

#endif
