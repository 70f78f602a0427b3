/* language_check.h - logits (B, T, V) and targets (B, T) for metrics over tokens, with their answer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LANGUAGE_CHECK_H
#define LANGUAGE_CHECK_H

#include "metric_check.h"

/* Two rows of two tokens, vocabulary of two: softmax(0, log 3) = 1/4, 3/4; softmax(0, 0) = 1/2, 1/2. */
static const float language_logits[] = {0.0f, 1.0986122886681098f, 0.0f, 0.0f,
                                        0.0f, 1.0986122886681098f, 0.0f, 0.0f};
static const int32_t language_targets[] = {1, -100, 0, 1};
#define LANGUAGE_SUM (-(log(0.75) + log(0.25) + log(0.5)))

static inline tutti_tensor language_tensor(const void *data, int32_t dtype, int32_t rank,
                                           int64_t b)
{
    const tutti_tensor t = {
        .data = (void *)data,
        .desc = {.dim = {b, 2, rank == 3 ? 2 : 0}, .rank = rank, .dtype = dtype},
        .device = TUTTI_DEVICE_CPU};
    return t;
}

/* Feeds rows [first, first + b) of the above. */
static inline tutti_status language_feed(gauge *m, int64_t first, int64_t b, tutti_error *err)
{
    return gauge_feed(m, language_tensor(language_logits + first * 4, TUTTI_F32, 3, b),
                      language_tensor(language_targets + first * 2, TUTTI_I32, 2, b), err);
}

static inline void language_settings(test_settings *g)
{
    test_settings_init(g);
    test_settings_int(g, "ignore_index", -100);
}

#endif
