/* trust_update.h - the update of one whole weight by a trust ratio: kernels for CPUs, and the table's update out of
 * them.  For trust.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_UPDATE_H
#define TRUST_UPDATE_H

#include "trust_range.h"

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

#endif
