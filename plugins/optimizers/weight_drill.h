/* weight_drill.h - for tests: an optimizer plugin that updates whole weights, and its steps on one of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIGHT_DRILL_H
#define WEIGHT_DRILL_H

#ifndef TUTTI_USE_MINOR
#define TUTTI_USE_MINOR 1 /* slot_shape */
#endif

#include "drill.h"
#include "tutti/optimizer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WEIGHT_ANSWERS = 4 };

/* Settings and a weight; what tests/peers/optimizers.py prints of it: the first weights behind the steps, and the norm of
 * all. */
typedef struct weight_variant {
    setting settings[10];
    const char *word; /* of the setting of type 'e'; NULL: there is none */
    uint32_t nslots;
    int32_t rank;
    int64_t dim[4];
    double want[WEIGHT_ANSWERS];
    double norm;
    double within; /* how near weights must be; the norm, 1e-6 of it */
} weight_variant;

typedef struct weight_case {
    const char *name;
    double lr;
    const weight_variant *variants;
    int nvariants;
} weight_case;

extern const weight_case weight_tested;

typedef struct weight_drill {
    subject subject;
    const tutti_optimizer_v1 *table;
    tutti_desc desc;
    tutti_desc shape[TUTTI_OPTIMIZER_MAX_SLOTS]; /* of the slots */
    int64_t n;
    float *w, *g;
    float *slot[TUTTI_OPTIMIZER_MAX_SLOTS];
    void *scratch;
    uint64_t scratch_bytes;
    uint16_t *low;
    int32_t low_dtype; /* 0: no copy */
    int32_t reserved;
} weight_drill;

static inline void weight_open(weight_drill *d, const weight_variant *v)
{
    tutti_error err = TUTTI_ERROR_INIT;
    test_settings g;
    drill_settings(&g, weight_tested.lr, v->settings);
    for (const setting *s = v->settings; s->type; s++)
        if (s->type == 'e')
            test_settings_enum(&g, s->name, v->word, (int64_t)s->value);
    memset(d, 0, sizeof *d);
    ck_assert_ok(subject_open(&d->subject, PLUGIN_PATH, TUTTI_KIND_OPTIMIZER,
                              weight_tested.name, &g, NULL, &err),
                 err);
    d->table = (const tutti_optimizer_v1 *)subject_query(&d->subject, TUTTI_OPTIMIZER_V1);
    ck_assert_uint_eq(d->table->nslots, v->nslots);
    ck_assert_uint_eq(d->table->by_weight, 1);
    d->desc = (tutti_desc){.rank = v->rank, .dtype = TUTTI_F32};
    memcpy(d->desc.dim, v->dim, (size_t)v->rank * sizeof *v->dim);
    d->n = tutti_numel(&d->desc);
    d->w = malloc((size_t)d->n * sizeof *d->w);
    d->g = malloc((size_t)d->n * sizeof *d->g);
    d->low = calloc((size_t)d->n, sizeof *d->low);
    for (uint32_t k = 0; k < v->nslots; k++) {
        d->shape[k] = d->desc;
        if (TUTTI_HAS(d->table, tutti_optimizer_v1, slot_shape) && d->table->slot_shape)
            ck_assert_ok(d->table->slot_shape(d->subject.self, &d->desc, k, &d->shape[k], &err),
                         err);
        ck_assert_ok(tutti_desc_check(&d->shape[k], 0, &err), err);
        if (tutti_numel(&d->shape[k]))
            d->slot[k] = calloc((size_t)tutti_numel(&d->shape[k]), sizeof(float));
    }
    d->scratch_bytes = d->table->scratch ? d->table->scratch(d->subject.self, &d->desc) : 0;
    d->scratch = d->scratch_bytes ? aligned_alloc(64, (d->scratch_bytes + 63) / 64 * 64) : NULL;
    for (int64_t i = 0; i < d->n; i++)
        d->w[i] = drill_number((uint32_t)i, 1000);
}

static inline void weight_close(weight_drill *d)
{
    subject_close(&d->subject);
    for (int k = 0; k < TUTTI_OPTIMIZER_MAX_SLOTS; k++)
        free(d->slot[k]);
    free(d->scratch);
    free(d->low);
    free(d->g);
    free(d->w);
}

/* tutti_update.each: parts in order, or the last one first. */
static inline void weight_each(void *ctx, int64_t count, void (*part)(void *arg, int64_t k),
                               void *arg)
{
    const bool backwards = *(const bool *)ctx;
    for (int64_t k = 0; k < count; k++)
        part(arg, backwards ? count - 1 - k : k);
}

/* Of the gradients of this weight, in f64; 0 where the optimizer does not read it. */
static inline double weight_norm(const weight_drill *d)
{
    double sum = 0.0;
    for (int64_t i = 0; i < d->n; i++)
        sum += (double)d->g[i] * (double)d->g[i];
    return TUTTI_HAS(d->table, tutti_optimizer_v1, reads_norm) && d->table->reads_norm
               ? sqrt(sum)
               : 0.0;
}

/* All steps; scratch memory has something else in it before each. */
static inline void weight_steps(weight_drill *d, bool backwards)
{
    for (int64_t t = 1; t <= DRILL_STEPS; t++) {
        for (int64_t i = 0; i < d->n; i++)
            d->g[i] = drill_gradient(t, i);
        if (d->scratch)
            memset(d->scratch, backwards ? 0xFF : 0xA5, d->scratch_bytes);
        tutti_update u = {.struct_size = (uint32_t)sizeof u,
                          .n = d->n,
                          .w = d->w,
                          .g = d->g,
                          .lr = drill_rate(d->table->lr, t),
                          .lr_initial = d->table->lr,
                          .step = t,
                          .low = d->low_dtype ? d->low : NULL,
                          .low_dtype = d->low_dtype,
                          .desc = &d->desc,
                          .path = "layer.weight",
                          .scratch = d->scratch,
                          .each = weight_each,
                          .each_ctx = &backwards,
                          .gradient_norm = weight_norm(d)};
        memcpy(u.slot, d->slot, sizeof u.slot);
        d->table->update(d->subject.self, &u);
    }
}

#endif
