/* adam.h - Adam's moments and step, for all kinds of weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAM_H
#define ADAM_H

#include "adam_range.h"
#include "optimizer.h"

/* The settings that adam, adamw and decoupled_adamw share, and their table. */
typedef struct adam {
    tutti_optimizer_v1 table;
    adam_rule rule;                 /* without lr_initial */
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel;
    int amsgrad;
} adam;

/* The manifest's kernels, by their names there. */
TUTTI_EXPORT void adam_step_cpu(float *w, const float *g, float *m, float *v, uint16_t *low,
                                const double *now, double beta1, double beta2, double eps,
                                double weight_decay, double lr_initial, int32_t decay,
                                int32_t low_dtype, int64_t n);
TUTTI_EXPORT void amsgrad_step_cpu(float *w, const float *g, float *m, float *v, float *most,
                                   uint16_t *low, const double *now, double beta1, double beta2,
                                   double eps, double weight_decay, double lr_initial,
                                   int32_t decay, int32_t low_dtype, int64_t n);

void adam_step_cpu(float *w, const float *g, float *m, float *v, uint16_t *low,
                   const double *now, double beta1, double beta2, double eps,
                   double weight_decay, double lr_initial, int32_t decay, int32_t low_dtype,
                   int64_t n)
{
    amsgrad_step_cpu(w, g, m, v, NULL, low, now, beta1, beta2, eps, weight_decay, lr_initial,
                     decay, low_dtype, n);
}

void amsgrad_step_cpu(float *w, const float *g, float *m, float *v, float *most, uint16_t *low,
                      const double *now, double beta1, double beta2, double eps,
                      double weight_decay, double lr_initial, int32_t decay, int32_t low_dtype,
                      int64_t n)
{
    const adam_rule r = {beta1, beta2, eps, weight_decay, lr_initial, decay, 0};
    const adam_step c = adam_now(r, now);
    if (now[TUTTI_UPDATE_SKIP] == 0.0)
        TUTTI_ISA_PICK(adam_range)(n, w, g, m, v, most, low, low_dtype, &c);
}

static void adam_update(void *self, const tutti_update *given)
{
    const tutti_update u = optimizer_known(given);
    const adam *o = (const adam *)self;
    adam_rule r = o->rule;
    r.lr_initial = u.lr_initial;
    const adam_step c = adam_at(r, u.lr, (double)u.step, 1.0);
    TUTTI_ISA_PICK(adam_range)
    (u.n, u.w, u.g, u.slot[0], u.slot[1], o->amsgrad ? u.slot[2] : NULL, u.low, u.low_dtype,
     &c);
}

static tutti_status adam_update_on_device(void *self, const tutti_update *u, tutti_error *err)
{
    const adam *o = (const adam *)self;
    adam_rule r = o->rule;
    tutti_update a = optimizer_known(u);
    void *args[15] = {&a.w, &a.g, &a.slot[0], &a.slot[1]};
    uint32_t n = 4;
    if (o->amsgrad)
        args[n++] = &a.slot[2];
    void *const rest[] = {&a.low,          &a.numbers,    &r.beta1, &r.beta2,     &r.eps,
                          &r.weight_decay, &a.lr_initial, &r.decay, &a.low_dtype, &a.n};
    for (uint32_t k = 0; k < sizeof rest / sizeof *rest; k++)
        args[n++] = rest[k];
    return o->kernels->launch(o->kernels->ctx, o->kernel, args, n, err);
}

static inline tutti_status adam_open(const char *name, const tutti_host *host,
                                     const tutti_params *params, int32_t decay, adam **ret,
                                     tutti_error *err)
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
    o->table.update = adam_update;
    o->kernels = optimizer_kernel(host, o->amsgrad ? "amsgrad_step" : "adam_step", &o->kernel);
    o->table.update_on_device = o->kernels ? adam_update_on_device : NULL;
    o->table.reads_numbers = 1;
    o->table.writes_low = 1;
    o->rule = (adam_rule){.beta1 = betas && betas->count == 2 ? betas->items[0]->f : 0.9,
                          .beta2 = betas && betas->count == 2 ? betas->items[1]->f : 0.999,
                          .eps = tutti_param_f64(params, "eps"),
                          .weight_decay = tutti_param_f64(params, "weight_decay"),
                          .decay = decay};
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
