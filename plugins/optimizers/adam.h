/* adam.h - Adam's moments and step, for both kinds of decoupled weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_H
#define ADAM_H

#include "lanes.h"

#include <math.h>

/* The settings that adamw and decoupled_adamw share, and their table. */
typedef struct adam {
    tutti_optimizer_v1 table;
    double beta1;
    double beta2;
    double eps;
    double weight_decay;
    int amsgrad;
} adam;

/* One step's coefficients:
 *   m = beta1 * m + (1 - beta1) * g
 *   v = beta2 * v + (1 - beta2) * g * g
 *   w = shrink * w - rate * m / (sqrt(v) * correct + eps) */
typedef struct adam_step {
    float beta1;
    float beta2;
    float rest1; /* 1 - beta1 */
    float rest2; /* 1 - beta2 */
    float shrink;
    float rate;    /* lr / (1 - beta1 ^ t) */
    float correct; /* 1 / sqrt(1 - beta2 ^ t) */
    float eps;
} adam_step;

LANES static void adam_run(int64_t n, float *restrict w, const float *restrict g,
                           float *restrict m, float *restrict v, const adam_step *c)
{
    const adam_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        m[i] = k.beta1 * m[i] + k.rest1 * g[i];
        v[i] = k.beta2 * v[i] + k.rest2 * (g[i] * g[i]);
        w[i] = k.shrink * w[i] - k.rate * m[i] / (sqrtf(v[i]) * k.correct + k.eps);
    }
}

/* The same with the largest v so far in the denominator. */
LANES static void amsgrad_run(int64_t n, float *restrict w, const float *restrict g,
                              float *restrict m, float *restrict v, float *restrict most,
                              const adam_step *c)
{
    const adam_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        m[i] = k.beta1 * m[i] + k.rest1 * g[i];
        v[i] = k.beta2 * v[i] + k.rest2 * (g[i] * g[i]);
        most[i] = v[i] > most[i] ? v[i] : most[i];
        w[i] = k.shrink * w[i] - k.rate * m[i] / (sqrtf(most[i]) * k.correct + k.eps);
    }
}

static inline void adam_update(const adam *o, const tutti_update *u, double shrink)
{
    const double t = (double)(u->step < 1 ? 1 : u->step);
    const adam_step c = {.beta1 = (float)o->beta1,
                         .beta2 = (float)o->beta2,
                         .rest1 = (float)(1.0 - o->beta1),
                         .rest2 = (float)(1.0 - o->beta2),
                         .shrink = (float)shrink,
                         .rate = (float)(u->lr / (1.0 - pow(o->beta1, t))),
                         .correct = (float)(1.0 / sqrt(1.0 - pow(o->beta2, t))),
                         .eps = (float)o->eps};
    if (o->amsgrad)
        amsgrad_run(u->n, u->w, u->g, u->slot[0], u->slot[1], u->slot[2], &c);
    else
        adam_run(u->n, u->w, u->g, u->slot[0], u->slot[1], &c);
}

static inline tutti_status adam_open(const char *name, const tutti_params *params,
                                     void (*update)(void *self, const tutti_update *u),
                                     adam **ret, tutti_error *err)
{
    static const char *const slots[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    const tutti_param *betas = tutti_param_find(params, "betas");
    adam *o = (adam *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", name);
    o->amsgrad = tutti_param_i64(params, "amsgrad") != 0;
    o->table.struct_size = (uint32_t)sizeof o->table;
    o->table.nslots = o->amsgrad ? 3 : 2;
    o->table.slot_names = slots;
    o->table.lr = tutti_param_f64(params, "lr");
    o->table.update = update;
    o->beta1 = betas && betas->count == 2 ? betas->items[0]->f : 0.9;
    o->beta2 = betas && betas->count == 2 ? betas->items[1]->f : 0.999;
    o->eps = tutti_param_f64(params, "eps");
    o->weight_decay = tutti_param_f64(params, "weight_decay");
    *ret = o;
    return TUTTI_OK;
}

static tutti_status adam_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *adam_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const adam *)self)->table : NULL;
}

#endif
