/* elementwise.h - the table of an optimizer with one formula an element: settings, kernels, update.
 *
 * A plugin includes it behind its NAME_step.h, says ELEMENTWISE_UPDATE(NAME), and opens with elementwise_open. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H

#include "elementwise_range.h"

typedef struct elementwise {
    tutti_optimizer_v1 table;
    double settings[ELEMENTWISE_SETTINGS];
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t kernel;
    int32_t variant;
} elementwise;

/* What a plugin tells of itself when it opens. */
typedef struct elementwise_open_options {
    const char *name;         /* in errors */
    const char *kernel;       /* of the manifest */
    const char *const *slots; /* names of the state, `nslots` of them */
    uint32_t nslots;
    int32_t variant;
    void (*update)(void *self, const tutti_update *u);
    double settings[ELEMENTWISE_SETTINGS]; /* as NAME_at reads them */
} elementwise_open_options;

/* Arguments of the manifest's kernel, in its order. */
#define ELEMENTWISE_ARGS                                                                       \
    float *w, const float *g, float *a, float *b, float *d, uint16_t *low, const double *now,  \
        double s0, double s1, double s2, double s3, double s4, double s5, int32_t variant,     \
        int32_t low_dtype, int64_t n

/* Defines the manifest's kernel for CPUs, NAME_step_cpu, and NAME_update for the table. */
#define ELEMENTWISE_UPDATE(name)                                                               \
    TUTTI_EXPORT void name##_step_cpu(ELEMENTWISE_ARGS);                                       \
    void name##_step_cpu(ELEMENTWISE_ARGS)                                                     \
    {                                                                                          \
        const double settings[ELEMENTWISE_SETTINGS] = {s0, s1, s2, s3, s4, s5};                \
        const elementwise_range r = {n, w, g, {a, b, d}, low, low_dtype, variant};             \
        const name##_step c = name##_at(settings, variant, now[TUTTI_UPDATE_LR],               \
                                        now[TUTTI_UPDATE_STEP], now[TUTTI_UPDATE_FACTOR]);     \
        if (now[TUTTI_UPDATE_SKIP] == 0.0)                                                     \
            TUTTI_ISA_PICK(name##_range)(&r, &c);                                              \
    }                                                                                          \
                                                                                               \
    static void name##_update(void *self, const tutti_update *given)                           \
    {                                                                                          \
        const elementwise *o = (const elementwise *)self;                                      \
        const tutti_update u = optimizer_known(given);                                         \
        const elementwise_range r = {                                                          \
            u.n, u.w, u.g, {u.slot[0], u.slot[1], u.slot[2]}, u.low, u.low_dtype, o->variant}; \
        const name##_step c = name##_at(o->settings, o->variant, u.lr, (double)u.step, 1.0);   \
        TUTTI_ISA_PICK(name##_range)(&r, &c);                                                  \
    }

static tutti_status elementwise_update_on_device(void *self, const tutti_update *u,
                                                 tutti_error *err)
{
    elementwise *o = (elementwise *)self;
    tutti_update a = optimizer_known(u);
    double *s = o->settings;
    void *args[] = {&a.w,       &a.g,        &a.slot[0],   &a.slot[1], &a.slot[2], &a.low,
                    &a.numbers, &s[0],       &s[1],        &s[2],      &s[3],      &s[4],
                    &s[5],      &o->variant, &a.low_dtype, &a.n};
    return o->kernels->launch(o->kernels->ctx, o->kernel, args, sizeof args / sizeof *args,
                              err);
}

static tutti_status elementwise_open(const tutti_host *host, const tutti_params *params,
                                     const elementwise_open_options *options, void **ret_self,
                                     tutti_error *err)
{
    elementwise *o = (elementwise *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", options->name);
    o->table.struct_size = (uint32_t)sizeof o->table;
    o->table.nslots = options->nslots;
    o->table.slot_names = options->slots;
    o->table.lr = tutti_param_f64(params, "lr");
    o->table.update = options->update;
    o->kernels = optimizer_kernel(host, options->kernel, &o->kernel);
    o->table.update_on_device = o->kernels ? elementwise_update_on_device : NULL;
    o->table.reads_numbers = 1;
    o->table.writes_low = 1;
    o->variant = options->variant;
    memcpy(o->settings, options->settings, sizeof o->settings);
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status elementwise_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *elementwise_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const elementwise *)self)->table
                                                         : NULL;
}

#endif
