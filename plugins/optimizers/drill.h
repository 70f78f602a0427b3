/* drill.h - the weights, gradients, rates and settings that tests of optimizers step with. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DRILL_H
#define DRILL_H

#include "plugin_check.h"

enum { DRILL_STEPS = 12 };

/* A number in [-1, 1) that depends on its arguments alone. */
static inline float drill_number(uint32_t a, uint32_t b)
{
    uint32_t x = a * 2654435761u + b * 40503u + 12345u;
    x ^= x >> 13;
    x *= 1597334677u;
    x ^= x >> 16;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static inline float drill_gradient(int64_t step, int64_t i)
{
    return drill_number((uint32_t)i, (uint32_t)step);
}

/* One setting; a `type` of 0 ends a list. */
typedef struct setting {
    const char *name;
    char
        type; /* 'f' value, 'b' value, 'p' a pair of value and second, 'i' value, 'e' a word's number */
    double value;
    double second;
} setting;

/* Rate of step t (from 1): a schedule that moves, so that decays that follow it show. */
static inline double drill_rate(double lr, int64_t t)
{
    return lr * (1.0 - 0.05 * (double)(t - 1));
}

static inline void drill_settings(test_settings *g, double lr, const setting *settings)
{
    test_settings_init(g);
    test_settings_float(g, "lr", lr);
    for (const setting *s = settings; s->type; s++) {
        const double pair[] = {s->value, s->second};
        if (s->type == 'p')
            test_settings_floats(g, s->name, pair, 2);
        else if (s->type == 'b')
            test_settings_bool(g, s->name, s->value != 0.0);
        else if (s->type == 'i')
            test_settings_int(g, s->name, (int64_t)s->value);
        else if (s->type == 'f')
            test_settings_float(g, s->name, s->value);
    }
}

#endif
