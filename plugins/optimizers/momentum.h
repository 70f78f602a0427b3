/* momentum.h - stochastic gradient descent with momentum, for both kinds of weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_H
#define MOMENTUM_H

#include "lanes.h"

/* The settings that sgd and decoupled_sgdw share, and their table. */
typedef struct momentum {
    tutti_optimizer_v1 table;
    double momentum;
    double dampening;
    double weight_decay;
    int nesterov;
} momentum;

/* One step's coefficients:
 *   d   = g + couple * w
 *   buf = keep * buf + take * d
 *   w   = shrink * w - lr * (direct * d + follow * buf) */
typedef struct momentum_step {
    float couple;
    float keep;
    float take;
    float direct;
    float follow;
    float shrink;
    float lr;
} momentum_step;

LANES static void momentum_run(int64_t n, float *restrict w, const float *restrict g,
                               float *restrict buf, const momentum_step *c)
{
    const momentum_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        const float d = g[i] + k.couple * w[i];
        const float b = k.keep * buf[i] + k.take * d;
        buf[i] = b;
        w[i] = k.shrink * w[i] - k.lr * (k.direct * d + k.follow * b);
    }
}

LANES static void plain_run(int64_t n, float *restrict w, const float *restrict g,
                            const momentum_step *c)
{
    const momentum_step k = *c;
    for (int64_t i = 0; i < n; i++)
        w[i] = k.shrink * w[i] - k.lr * (g[i] + k.couple * w[i]);
}

/* `couple` goes into the gradient, `shrink` onto the weight.  The first step fills the buffer whole,
 * whatever the dampening. */
static inline void momentum_update(const momentum *o, const tutti_update *u, double couple,
                                   double shrink)
{
    const int first = u->step <= 1;
    const momentum_step c = {.couple = (float)couple,
                             .keep = first ? 0.0f : (float)o->momentum,
                             .take = first ? 1.0f : (float)(1.0 - o->dampening),
                             .direct = o->nesterov ? 1.0f : 0.0f,
                             .follow = o->nesterov ? (float)o->momentum : 1.0f,
                             .shrink = (float)shrink,
                             .lr = (float)u->lr};
    if (o->momentum != 0.0)
        momentum_run(u->n, u->w, u->g, u->slot[0], &c);
    else
        plain_run(u->n, u->w, u->g, &c);
}

static inline tutti_status momentum_open(const char *name, const tutti_params *params,
                                         void (*update)(void *self, const tutti_update *u),
                                         momentum **ret, tutti_error *err)
{
    static const char *const slots[] = {"momentum"};
    const double rate = tutti_param_f64(params, "momentum");
    const int nesterov = tutti_param_i64(params, "nesterov") != 0;
    if (nesterov && (rate <= 0.0 || tutti_param_f64(params, "dampening") != 0.0))
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: nesterov needs a momentum above 0 and a dampening of 0", name);
    momentum *o = (momentum *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", name);
    o->table.struct_size = (uint32_t)sizeof o->table;
    o->table.nslots = rate != 0.0;
    o->table.slot_names = slots;
    o->table.lr = tutti_param_f64(params, "lr");
    o->table.update = update;
    o->momentum = rate;
    o->dampening = tutti_param_f64(params, "dampening");
    o->weight_decay = tutti_param_f64(params, "weight_decay");
    o->nesterov = nesterov;
    *ret = o;
    return TUTTI_OK;
}

static tutti_status momentum_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *momentum_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const momentum *)self)->table
                                                         : NULL;
}

#endif
