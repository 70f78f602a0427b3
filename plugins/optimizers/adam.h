/* adam.h - Adam's moments and step, for both kinds of decoupled weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_H
#define ADAM_H

#include "adam_step.h"
#include "lanes.h"

/* The settings that adamw and decoupled_adamw share, and their table. */
typedef struct adam {
    tutti_optimizer_v1 table;
    double beta1;
    double beta2;
    double eps;
    double weight_decay;
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel;
    int amsgrad;
} adam;

LANES static void adam_run(int64_t n, float *restrict w, const float *restrict g,
                           float *restrict m, float *restrict v, const adam_step *c)
{
    const adam_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        adam_average(&m[i], &v[i], g[i], k);
        w[i] = adam_move(w[i], m[i], v[i], k);
    }
}

/* The same with the largest v so far in the denominator. */
LANES static void amsgrad_run(int64_t n, float *restrict w, const float *restrict g,
                              float *restrict m, float *restrict v, float *restrict most,
                              const adam_step *c)
{
    const adam_step k = *c;
    for (int64_t i = 0; i < n; i++) {
        adam_average(&m[i], &v[i], g[i], k);
        most[i] = v[i] > most[i] ? v[i] : most[i];
        w[i] = adam_move(w[i], m[i], most[i], k);
    }
}

/* The manifest's kernels, by their names there. */
TUTTI_EXPORT void adam_step_cpu(float *w, const float *g, float *m, float *v, float beta1,
                                float beta2, float rest1, float rest2, float shrink, float rate,
                                float correct, float eps, int64_t n);
TUTTI_EXPORT void amsgrad_step_cpu(float *w, const float *g, float *m, float *v, float *most,
                                   float beta1, float beta2, float rest1, float rest2,
                                   float shrink, float rate, float correct, float eps,
                                   int64_t n);

void adam_step_cpu(float *w, const float *g, float *m, float *v, float beta1, float beta2,
                   float rest1, float rest2, float shrink, float rate, float correct, float eps,
                   int64_t n)
{
    const adam_step c = {beta1, beta2, rest1, rest2, shrink, rate, correct, eps};
    adam_run(n, w, g, m, v, &c);
}

void amsgrad_step_cpu(float *w, const float *g, float *m, float *v, float *most, float beta1,
                      float beta2, float rest1, float rest2, float shrink, float rate,
                      float correct, float eps, int64_t n)
{
    const adam_step c = {beta1, beta2, rest1, rest2, shrink, rate, correct, eps};
    amsgrad_run(n, w, g, m, v, most, &c);
}

static inline adam_step adam_coefficients(const adam *o, const tutti_update *u, double shrink)
{
    const double t = (double)(u->step < 1 ? 1 : u->step);
    return (adam_step){.beta1 = (float)o->beta1,
                       .beta2 = (float)o->beta2,
                       .rest1 = (float)(1.0 - o->beta1),
                       .rest2 = (float)(1.0 - o->beta2),
                       .shrink = (float)shrink,
                       .rate = (float)(u->lr / (1.0 - pow(o->beta1, t))),
                       .correct = (float)(1.0 / sqrt(1.0 - pow(o->beta2, t))),
                       .eps = (float)o->eps};
}

static inline void adam_update(const adam *o, const tutti_update *u, double shrink)
{
    const adam_step c = adam_coefficients(o, u, shrink);
    if (o->amsgrad)
        amsgrad_run(u->n, u->w, u->g, u->slot[0], u->slot[1], u->slot[2], &c);
    else
        adam_run(u->n, u->w, u->g, u->slot[0], u->slot[1], &c);
}

static inline tutti_status adam_launch(const adam *o, const tutti_update *u, double shrink,
                                       tutti_error *err)
{
    adam_step c = adam_coefficients(o, u, shrink);
    tutti_update a = *u;
    void *args[14] = {&a.w, &a.g, &a.slot[0], &a.slot[1]};
    uint32_t n = 4;
    if (o->amsgrad)
        args[n++] = &a.slot[2];
    float *const numbers[] = {&c.beta1,  &c.beta2, &c.rest1,   &c.rest2,
                              &c.shrink, &c.rate,  &c.correct, &c.eps};
    for (uint32_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        args[n++] = numbers[k];
    args[n++] = &a.n;
    return o->kernels->launch(o->kernels->ctx, o->kernel, args, n, err);
}

typedef tutti_status (*update_on_device)(void *self, const tutti_update *u, tutti_error *err);

static inline tutti_status adam_open(const char *name, const tutti_host *host,
                                     const tutti_params *params,
                                     void (*update)(void *self, const tutti_update *u),
                                     update_on_device on_device, adam **ret, tutti_error *err)
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
    o->kernels = lanes_kernel(host, o->amsgrad ? "amsgrad_step" : "adam_step", &o->kernel);
    o->table.update_on_device = o->kernels ? on_device : NULL;
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
