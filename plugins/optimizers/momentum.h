/* momentum.h - stochastic gradient descent with momentum, for both kinds of weight decay. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOMENTUM_H
#define MOMENTUM_H

#include "momentum_range.h"
#include "optimizer.h"

/* The settings that sgd and decoupled_sgdw share, and their table. */
typedef struct momentum {
    tutti_optimizer_v1 table;
    momentum_rule rule;             /* without lr_initial */
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel;
    uint32_t reserved;
} momentum;

/* The manifest's kernels, by their names there. */
TUTTI_EXPORT void momentum_step_cpu(float *w, const float *g, float *buf, uint16_t *low,
                                    const double *now, double keep, double dampening,
                                    double weight_decay, double lr_initial, int32_t nesterov,
                                    int32_t decoupled, int32_t low_dtype, int64_t n);
TUTTI_EXPORT void plain_step_cpu(float *w, const float *g, uint16_t *low, const double *now,
                                 double weight_decay, double lr_initial, int32_t decoupled,
                                 int32_t low_dtype, int64_t n);

void momentum_step_cpu(float *w, const float *g, float *buf, uint16_t *low, const double *now,
                       double keep, double dampening, double weight_decay, double lr_initial,
                       int32_t nesterov, int32_t decoupled, int32_t low_dtype, int64_t n)
{
    const momentum_rule r = {keep, dampening, weight_decay, lr_initial, nesterov, decoupled};
    const momentum_step c = momentum_now(r, now);
    if (now[TUTTI_UPDATE_SKIP] == 0.0)
        TUTTI_ISA_PICK(momentum_range)(n, w, g, buf, low, low_dtype, &c);
}

void plain_step_cpu(float *w, const float *g, uint16_t *low, const double *now,
                    double weight_decay, double lr_initial, int32_t decoupled,
                    int32_t low_dtype, int64_t n)
{
    momentum_step_cpu(w, g, NULL, low, now, 0.0, 0.0, weight_decay, lr_initial, 0, decoupled,
                      low_dtype, n);
}

static void momentum_update(void *self, const tutti_update *given)
{
    const tutti_update u = optimizer_known(given);
    momentum_rule r = ((const momentum *)self)->rule;
    r.lr_initial = u.lr_initial;
    const momentum_step c = momentum_at(r, u.lr, (double)u.step, 1.0);
    TUTTI_ISA_PICK(momentum_range)
    (u.n, u.w, u.g, r.momentum != 0.0 ? u.slot[0] : NULL, u.low, u.low_dtype, &c);
}

static tutti_status momentum_update_on_device(void *self, const tutti_update *u,
                                              tutti_error *err)
{
    const momentum *o = (const momentum *)self;
    momentum_rule r = o->rule;
    tutti_update a = optimizer_known(u);
    void *with[] = {&a.w,          &a.g,        &a.slot[0],   &a.low,
                    &a.numbers,    &r.momentum, &r.dampening, &r.weight_decay,
                    &a.lr_initial, &r.nesterov, &r.decoupled, &a.low_dtype,
                    &a.n};
    void *without[] = {&a.w,          &a.g,         &a.low,       &a.numbers, &r.weight_decay,
                       &a.lr_initial, &r.decoupled, &a.low_dtype, &a.n};
    const int moves = r.momentum != 0.0;
    return o->kernels->launch(
        o->kernels->ctx, o->kernel, moves ? with : without,
        moves ? sizeof with / sizeof *with : sizeof without / sizeof *without, err);
}

static inline tutti_status momentum_open(const char *name, const tutti_host *host,
                                         const tutti_params *params, int decoupled,
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
    o->table.update = momentum_update;
    o->kernels =
        optimizer_kernel(host, rate != 0.0 ? "momentum_step" : "plain_step", &o->kernel);
    o->table.update_on_device = o->kernels ? momentum_update_on_device : NULL;
    o->table.reads_numbers = 1;
    o->table.writes_low = 1;
    o->rule = (momentum_rule){.momentum = rate,
                              .dampening = tutti_param_f64(params, "dampening"),
                              .weight_decay = tutti_param_f64(params, "weight_decay"),
                              .nesterov = nesterov,
                              .decoupled = decoupled};
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
