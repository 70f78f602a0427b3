/* mask.h - what becomes of the tokens of a sample, once, for every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MASK_TOKENS_MASK_H
#define MASK_TOKENS_MASK_H

#include "tutti/cuda_code.h"
#include "tutti/rng.h"

/* Where nothing is asked for, as in PyTorch. */
enum { MASK_IGNORED = -100 };

typedef struct mask_rule {
    double probability;
    double mask_share;
    double random_share;
    int64_t mask_token;
    int64_t tokens; /* that a random one is taken from */
} mask_rule;

/* Whether `token`, the next of its sample, is drawn; *ret_becomes is then what the model sees. */
TUTTI_SHARED int mask_draw(mask_rule m, tutti_stream *s, int64_t token, int special,
                           int64_t *ret_becomes)
{
    const int drawn = tutti_stream_uniform(s) < m.probability;
    if (!drawn || special)
        return 0;
    const double how = tutti_stream_uniform(s);
    *ret_becomes = token;
    if (how < m.mask_share)
        *ret_becomes = m.mask_token;
    else if (how < m.mask_share + m.random_share)
        *ret_becomes = tutti_stream_below(s, (uint32_t)m.tokens);
    return 1;
}

/* Tokens of I32 or (wide) I64. */
TUTTI_SHARED int64_t mask_token_at(const void *tokens, int32_t wide, int64_t k)
{
    return wide ? ((const int64_t *)tokens)[k] : ((const int32_t *)tokens)[k];
}

/* One column of a sample: of `asked`, what is asked for (I32), else what the model sees. */
TUTTI_SHARED void mask_put(void *y, int32_t wide, int32_t asked, int64_t k, int drawn,
                           int64_t token, int64_t becomes)
{
    if (asked)
        ((int32_t *)y)[k] = drawn ? (int32_t)token : MASK_IGNORED;
    else if (wide)
        ((int64_t *)y)[k] = becomes;
    else
        ((int32_t *)y)[k] = (int32_t)becomes;
}

#endif
