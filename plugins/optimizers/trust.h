/* trust.h - the table of an optimizer with a trust ratio: settings, kernels, an update of one whole weight.
 *
 * A plugin includes it behind its NAME_range.h, says TRUST_UPDATE(NAME), and opens with trust_open. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_H
#define TRUST_H

#include "trust_range.h"

typedef struct trust {
    tutti_optimizer_v1 table;
    double settings[TRUST_SETTINGS];
    const tutti_kernel_v1 *kernels; /* of this plugin; NULL: the host has none */
    uint32_t look;                  /* kernels of the manifest */
    uint32_t move;
    int32_t flags; /* TRUST_* and the optimizer's own */
    int32_t kind;  /* 1: without the last of its state */
} trust;

/* What a plugin tells of itself when it opens. */
typedef struct trust_open_options {
    const char *name; /* in errors */
    const char *look; /* kernels of the manifest */
    const char *move;
    const char *const *slots; /* names of the state, `nslots` of them */
    uint32_t nslots;
    int32_t own_flags; /* and TRUST_NORM */
    int32_t kind;
    int32_t reserved;
    void (*update)(void *self, const tutti_update *u);
    double settings[TRUST_SETTINGS]; /* as NAME_at reads them */
} trust_open_options;

/* Arguments of the manifest's kernels, in their order. */
#define TRUST_SETTING_ARGS                                                                     \
    const double *now, double s0, double s1, double s2, double s3, double s4, int32_t flags,   \
        int32_t kind
#define TRUST_LOOK_ARGS                                                                        \
    const float *w, const float *g, float *a, float *b, double *parts, TRUST_SETTING_ARGS,     \
        int64_t n, int64_t pieces, int64_t threads
#define TRUST_MOVE_ARGS                                                                        \
    float *w, const float *g, float *a, float *b, const double *parts, uint16_t *low,          \
        TRUST_SETTING_ARGS, int32_t low_dtype, int64_t n, int64_t pieces

/* The two sums of a weight, out of those of its pieces, as a GPU's block adds them. */
static inline void trust_norms(const double *parts, int64_t pieces, double *ret_w,
                               double *ret_step)
{
    double of_w[SQUARES_LANES] = {0.0}, of_step[SQUARES_LANES] = {0.0};
    for (int64_t k = 0; k < pieces; k++) {
        of_w[k % SQUARES_LANES] += parts[2 * k];
        of_step[k % SQUARES_LANES] += parts[2 * k + 1];
    }
    *ret_w = sqrt(squares_pair(of_w));
    *ret_step = sqrt(squares_pair(of_step));
}

/* Defines the manifest's kernels for CPUs, NAME_look_cpu and NAME_move_cpu, and NAME_update for the table. */
#define TRUST_UPDATE(name)                                                                     \
    typedef struct name##_job {                                                                \
        trust_range range;                                                                     \
        name##_step step;                                                                      \
        float ratio;                                                                           \
    } name##_job;                                                                              \
                                                                                               \
    static void name##_look_part(void *arg, int64_t p)                                         \
    {                                                                                          \
        const name##_job *j = (const name##_job *)arg;                                         \
        TUTTI_ISA_PICK(name##_look_piece)(&j->range, &j->step, p);                             \
    }                                                                                          \
                                                                                               \
    static void name##_move_part(void *arg, int64_t p)                                         \
    {                                                                                          \
        const name##_job *j = (const name##_job *)arg;                                         \
        TUTTI_ISA_PICK(name##_move_piece)(&j->range, &j->step, j->ratio, p);                   \
    }                                                                                          \
                                                                                               \
    static float name##_ratio_of(const double *parts, int64_t pieces, const name##_step *c)    \
    {                                                                                          \
        double of_w = 0.0, of_step = 0.0;                                                      \
        trust_norms(parts, pieces, &of_w, &of_step);                                           \
        return name##_ratio(*c, of_w, of_step);                                                \
    }                                                                                          \
                                                                                               \
    static name##_step name##_of_kernel(TRUST_SETTING_ARGS)                                    \
    {                                                                                          \
        const double settings[TRUST_SETTINGS] = {s0, s1, s2, s3, s4};                          \
        return name##_at(settings, flags, kind, now[TUTTI_UPDATE_LR], now[TUTTI_UPDATE_STEP],  \
                         now[TUTTI_UPDATE_FACTOR], now[TUTTI_UPDATE_NORM]);                    \
    }                                                                                          \
                                                                                               \
    TUTTI_EXPORT void name##_look_cpu(TRUST_LOOK_ARGS);                                        \
    TUTTI_EXPORT void name##_move_cpu(TRUST_MOVE_ARGS);                                        \
    void name##_look_cpu(TRUST_LOOK_ARGS)                                                      \
    {                                                                                          \
        float *const weights = (float *)(uintptr_t)w; /* this pass reads them alone */         \
        name##_job j = {{n, weights, g, {a, b}, parts, NULL, 0, kind},                         \
                        name##_of_kernel(now, s0, s1, s2, s3, s4, flags, kind),                \
                        1.0f};                                                                 \
        for (int64_t p = 0; p < pieces && now[TUTTI_UPDATE_SKIP] == 0.0; p++)                  \
            name##_look_part(&j, p);                                                           \
    }                                                                                          \
                                                                                               \
    void name##_move_cpu(TRUST_MOVE_ARGS)                                                      \
    {                                                                                          \
        name##_job j = {{n, w, g, {a, b}, NULL, low, low_dtype, kind},                         \
                        name##_of_kernel(now, s0, s1, s2, s3, s4, flags, kind),                \
                        1.0f};                                                                 \
        j.ratio = name##_ratio_of(parts, pieces, &j.step);                                     \
        for (int64_t p = 0; p < pieces && now[TUTTI_UPDATE_SKIP] == 0.0; p++)                  \
            name##_move_part(&j, p);                                                           \
    }                                                                                          \
                                                                                               \
    static void name##_update(void *self, const tutti_update *given)                           \
    {                                                                                          \
        const trust *o = (const trust *)self;                                                  \
        const tutti_update u = optimizer_known(given);                                         \
        const int64_t pieces = trust_pieces(u.n);                                              \
        name##_job j = {{u.n,                                                                  \
                         u.w,                                                                  \
                         u.g,                                                                  \
                         {u.slot[0], u.slot[1]},                                               \
                         (double *)u.scratch,                                                  \
                         u.low,                                                                \
                         u.low_dtype,                                                          \
                         o->kind},                                                             \
                        name##_at(o->settings, o->flags, o->kind, u.lr, (double)u.step, 1.0,   \
                                  u.gradient_norm),                                            \
                        1.0f};                                                                 \
        u.each(u.each_ctx, pieces, name##_look_part, &j);                                      \
        j.ratio = name##_ratio_of(j.range.parts, pieces, &j.step);                             \
        u.each(u.each_ctx, pieces, name##_move_part, &j);                                      \
    }

static tutti_status trust_update_on_device(void *self, const tutti_update *u, tutti_error *err)
{
    trust *o = (trust *)self;
    tutti_update a = optimizer_known(u);
    double *s = o->settings;
    int64_t pieces = trust_pieces(a.n), threads = pieces * SQUARES_LANES;
    void *look[] = {&a.w,     &a.g,  &a.slot[0], &a.slot[1], &a.scratch, &a.numbers,
                    &s[0],    &s[1], &s[2],      &s[3],      &s[4],      &o->flags,
                    &o->kind, &a.n,  &pieces,    &threads};
    void *move[] = {&a.w,       &a.g,     &a.slot[0],   &a.slot[1], &a.scratch, &a.low,
                    &a.numbers, &s[0],    &s[1],        &s[2],      &s[3],      &s[4],
                    &o->flags,  &o->kind, &a.low_dtype, &a.n,       &pieces};
    const tutti_status status =
        o->kernels->launch(o->kernels->ctx, o->look, look, sizeof look / sizeof *look, err);
    return status ? status
                  : o->kernels->launch(o->kernels->ctx, o->move, move,
                                       sizeof move / sizeof *move, err);
}

static uint64_t trust_scratch(void *self, const tutti_desc *desc)
{
    return (uint64_t)trust_pieces(tutti_numel(desc)) * 2 * sizeof(double);
}

static tutti_status trust_open(const tutti_host *host, const tutti_params *params,
                               const trust_open_options *options, void **ret_self,
                               tutti_error *err)
{
    trust *o = (trust *)calloc(1, sizeof *o);
    if (!o)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", options->name);
    o->table.struct_size = (uint32_t)sizeof o->table;
    o->table.nslots = options->nslots;
    o->table.slot_names = options->slots;
    o->table.lr = tutti_param_f64(params, "lr");
    o->table.update = options->update;
    o->kernels = optimizer_kernel(host, options->look, &o->look);
    if (o->kernels)
        o->kernels = optimizer_kernel(host, options->move, &o->move);
    o->table.update_on_device = o->kernels ? trust_update_on_device : NULL;
    o->table.reads_numbers = 1;
    o->table.writes_low = 1;
    o->table.by_weight = 1;
    o->table.scratch = trust_scratch;
    o->kind = options->kind;
    o->flags = options->own_flags;
    o->table.reads_norm = (options->own_flags & TRUST_NORM) != 0;
    if (tutti_param_i64(params, "trust_clip"))
        o->flags |= TRUST_CLIP;
    if (tutti_param_i64(params, "always_adapt"))
        o->flags |= TRUST_ALWAYS;
    memcpy(o->settings, options->settings, sizeof o->settings);
    *ret_self = o;
    return TUTTI_OK;
}

static tutti_status trust_close(void *self, tutti_error *err)
{
    free(self);
    return TUTTI_OK;
}

static const void *trust_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &((const trust *)self)->table : NULL;
}

#endif
