/* optimizer_drill.h - for tests: an optimizer plugin, its settings, and its steps on one array. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIMIZER_DRILL_H
#define OPTIMIZER_DRILL_H

#include "drill.h"
#include "plugin_check.h"
#include "tutti/optimizer.h"

#include <stdbool.h>

enum { DRILL_N = 67 };

typedef struct drill {
    subject subject;
    const tutti_optimizer_v1 *table;
    float w[DRILL_N];
    float slot[TUTTI_OPTIMIZER_MAX_SLOTS][DRILL_N];
    uint16_t low[DRILL_N]; /* of low_dtype, where that is not 0 */
    int32_t low_dtype;
    int32_t reserved;
} drill;

typedef struct optimizer_variant {
    setting settings[8];
    uint32_t nslots;
    double torch
        [4]; /* the first weights behind torch's or timm's steps, by tests/peers/optimizers.py; 0: they have no such optimizer */
} optimizer_variant;

/* A weight at step t (from 1) with gradient g, in f64; `state` is 0 at first. */
typedef struct optimizer_step {
    const optimizer_variant *variant;
    double lr, lr_initial;
    double g;
    int64_t t;
    double *w;
    double *state; /* TUTTI_OPTIMIZER_MAX_SLOTS */
} optimizer_step;

/* What a test file tells of its optimizer. */
typedef struct optimizer_case {
    const char *name;
    double lr;
    const optimizer_variant *variants;
    int nvariants;
    void (*step)(const optimizer_step *s);
    /* weight_decay is not multiplied by the rate: a large one is warned about, and one of 0.02 takes 2 %
     * off a weight even where the rate is 0. */
    bool decoupled;
} optimizer_case;

extern const optimizer_case optimizer_tested;

static inline double variant_value(const optimizer_variant *v, const char *name)
{
    const setting *s = v->settings;
    while (s->type && strcmp(s->name, name) != 0)
        s++;
    ck_assert_msg(s->type, "the variant has no %s", name);
    return s->value;
}

static inline double variant_second(const optimizer_variant *v, const char *name)
{
    const setting *s = v->settings;
    while (s->type && strcmp(s->name, name) != 0)
        s++;
    ck_assert_msg(s->type == 'p', "the variant has no pair %s", name);
    return s->second;
}

static inline void settings_of(test_settings *g, const optimizer_variant *v)
{
    drill_settings(g, optimizer_tested.lr, v->settings);
}

static inline void drill_open(drill *d, const optimizer_variant *v)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    settings_of(&g, v);
    memset(d, 0, sizeof *d);
    ck_assert_ok(subject_open(&d->subject, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER,
                              optimizer_tested.name, &g, NULL, &err),
                 err);
    d->table = (const tutti_optimizer_v1 *)subject_query(&d->subject, TUTTI_OPTIMIZER_V1);
    ck_assert_uint_eq(d->table->nslots, v->nslots);
    for (uint32_t k = 0; k < v->nslots; k++)
        ck_assert_ptr_nonnull(d->table->slot_names[k]);
    for (int64_t i = 0; i < DRILL_N; i++)
        d->w[i] = drill_number((uint32_t)i, 1000);
}

/* DRILL_STEPS steps, each in two ranges cut at `cut`. */
static inline void drill_run(drill *d, int64_t cut)
{
    float g[DRILL_N];
    for (int64_t t = 1; t <= DRILL_STEPS; t++) {
        for (int64_t i = 0; i < DRILL_N; i++)
            g[i] = drill_gradient(t, i);
        for (int half = 0; half < 2; half++) {
            const int64_t from = half ? cut : 0, to = half ? DRILL_N : cut;
            tutti_update u = {.struct_size = (uint32_t)sizeof u,
                              .n = to - from,
                              .w = d->w + from,
                              .g = g + from,
                              .lr = drill_rate(d->table->lr, t),
                              .lr_initial = d->table->lr,
                              .step = t,
                              .low = d->low_dtype ? d->low + from : NULL,
                              .low_dtype = d->low_dtype};
            for (uint32_t k = 0; k < d->table->nslots; k++)
                u.slot[k] = d->slot[k] + from;
            d->table->update(d->subject.self, &u);
        }
    }
}

#endif
