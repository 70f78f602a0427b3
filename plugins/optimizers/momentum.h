/* momentum.h - stochastic gradient descent with momentum, for both kinds of weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_H
#define MOMENTUM_H

#include "lanes.h"
#include "momentum_step.h"

/* The settings that sgd and decoupled_sgdw share, and their table. */
typedef struct momentum {
    tutti_optimizer_v1 table;
    double momentum;
    double dampening;
    double weight_decay;
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel;
    int nesterov;
} momentum;

LANES static void momentum_run(int64_t n, float *restrict w, const float *restrict g,
                               float *restrict buf, const momentum_step *c)
{
    const momentum_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        w[i] = momentum_move(w[i], g[i], &buf[i], k);
    }
}

LANES static void plain_run(int64_t n, float *restrict w, const float *restrict g,
                            const momentum_step *c)
{
    const momentum_step k = *c;
    for (int64_t i = 0; i < n; i++)
        w[i] = plain_move(w[i], g[i], k);
}

/* The manifest's kernels, by their names there. */
TUTTI_EXPORT void momentum_step_cpu(float *w, const float *g, float *buf, float couple,
                                    float keep, float take, float direct, float follow,
                                    float shrink, float lr, int64_t n);
TUTTI_EXPORT void plain_step_cpu(float *w, const float *g, float couple, float shrink, float lr,
                                 int64_t n);

void momentum_step_cpu(float *w, const float *g, float *buf, float couple, float keep,
                       float take, float direct, float follow, float shrink, float lr,
                       int64_t n)
{
    const momentum_step c = {couple, keep, take, direct, follow, shrink, lr};
    momentum_run(n, w, g, buf, &c);
}

void plain_step_cpu(float *w, const float *g, float couple, float shrink, float lr, int64_t n)
{
    const momentum_step c = {.couple = couple, .shrink = shrink, .lr = lr};
    plain_run(n, w, g, &c);
}

/* `couple` goes into the gradient, `shrink` onto the weight.  The first step fills the buffer whole,
 * whatever the dampening. */
static inline momentum_step momentum_coefficients(const momentum *o, const tutti_update *u,
                                                  double couple, double shrink)
{
    const int first = u->step <= 1;
    return (momentum_step){.couple = (float)couple,
                           .keep = first ? 0.0f : (float)o->momentum,
                           .take = first ? 1.0f : (float)(1.0 - o->dampening),
                           .direct = o->nesterov ? 1.0f : 0.0f,
                           .follow = o->nesterov ? (float)o->momentum : 1.0f,
                           .shrink = (float)shrink,
                           .lr = (float)u->lr};
}

static inline void momentum_update(const momentum *o, const tutti_update *u, double couple,
                                   double shrink)
{
    const momentum_step c = momentum_coefficients(o, u, couple, shrink);
    if (o->momentum != 0.0)
        momentum_run(u->n, u->w, u->g, u->slot[0], &c);
    else
        plain_run(u->n, u->w, u->g, &c);
}

static inline tutti_status momentum_launch(const momentum *o, const tutti_update *u,
                                           double couple, double shrink, tutti_error *err)
{
    momentum_step c = momentum_coefficients(o, u, couple, shrink);
    tutti_update a = *u;
    void *with[] = {&a.w,      &a.g,      &a.slot[0], &c.couple, &c.keep, &c.take,
                    &c.direct, &c.follow, &c.shrink,  &c.lr,     &a.n};
    void *without[] = {&a.w, &a.g, &c.couple, &c.shrink, &c.lr, &a.n};
    const int moves = o->momentum != 0.0;
    return o->kernels->launch(
        o->kernels->ctx, o->kernel, moves ? with : without,
        moves ? sizeof with / sizeof *with : sizeof without / sizeof *without, err);
}

typedef tutti_status (*update_on_device)(void *self, const tutti_update *u, tutti_error *err);

static inline tutti_status momentum_open(const char *name, const tutti_host *host,
                                         const tutti_params *params,
                                         void (*update)(void *self, const tutti_update *u),
                                         update_on_device on_device, momentum **ret,
                                         tutti_error *err)
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
    o->kernels = lanes_kernel(host, rate != 0.0 ? "momentum_step" : "plain_step", &o->kernel);
    o->table.update_on_device = o->kernels ? on_device : NULL;
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
