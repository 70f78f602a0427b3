/* run_weights_check.h - weights and their optimizer in a made-up run, and its checkpoints. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_WEIGHTS_CHECK_H
#define RUN_WEIGHTS_CHECK_H

#include "run_state_check.h"

#include <stdio.h>
#include <stdlib.h>

static inline uint32_t stage_weight_count(void *ctx)
{
    return ((const stage *)ctx)->weights.count;
}

static inline tutti_status stage_weight_at(void *ctx, uint32_t k, tutti_weight *ret,
                                           tutti_error *err)
{
    (void)err;
    *ret = ((const stage *)ctx)->weights.list[k];
    return TUTTI_OK;
}

static inline uint64_t stage_weight_version(void *ctx)
{
    (void)ctx;
    return 1;
}

/* A weight of n numbers; without `grad` a buffer. */
static inline void stage_weight(stage *s, const char *path, int64_t n, float *data, float *grad)
{
    ck_assert_uint_lt(s->weights.count, STAGE_WEIGHTS);
    s->weights.list[s->weights.count++] =
        (tutti_weight){.struct_size = (uint32_t)sizeof(tutti_weight),
                       .path = path,
                       .data = {data, {{n}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0},
                       .grad = grad};
}

#if TUTTI_USE_MINOR >= 1
static inline uint32_t stage_slots(void *ctx, uint32_t k)
{
    return ((const stage *)ctx)->slots.count[k];
}

static inline tutti_status stage_slot_at(void *ctx, uint32_t k, uint32_t slot, tutti_slot *ret,
                                         tutti_error *err)
{
    const stage *s = (const stage *)ctx;
    ck_assert_uint_lt(slot, s->slots.count[k]);
    if (s->slots.are_divided)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the state is divided");
    *ret = s->slots.list[k][slot];
    return TUTTI_OK;
}

/* Another slot of the k-th weight: as many numbers. */
static inline void stage_slot(stage *s, uint32_t k, const char *name, float *data)
{
    ck_assert_uint_lt(s->slots.count[k], TUTTI_OPTIMIZER_MAX_SLOTS);
    s->slots.list[k][s->slots.count[k]++] =
        (tutti_slot){.struct_size = (uint32_t)sizeof(tutti_slot),
                     .name = name,
                     .data = {data, s->weights.list[k].data.desc, TUTTI_DEVICE_CPU, 0}};
}
#endif

static inline uint32_t stage_groups(void *ctx)
{
    (void)ctx;
    return 2;
}

static inline const char *stage_optimizer(void *ctx)
{
    (void)ctx;
    return "sgd";
}

static inline double stage_lr(void *ctx, uint32_t group)
{
    return ((const stage *)ctx)->lr[group];
}

/* The checkpoint is a short text; its folders are made, as the host does. */
static inline tutti_status stage_save(void *ctx, const char *path, tutti_error *err)
{
    stage *s = (stage *)ctx;
    char command[900];
    if (s->save_fails)
        return tutti_fail(err, TUTTI_E_IO, "%s: No space left on device", path);
    (void)snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && echo x > '%s'",
                   path, path);
    ck_assert_int_eq(system(command), 0);
    s->saves++;
    return TUTTI_OK;
}

static inline int32_t stage_due(void *ctx, int32_t event)
{
    (void)ctx;
    (void)event;
    return 0;
}

static inline const char *stage_run_name(void *ctx)
{
    (void)ctx;
    return "trial";
}

static inline const char *stage_run_folder(void *ctx)
{
    return ((const stage *)ctx)->run_folder;
}

static inline tutti_status stage_own(void *ctx, const char *path, tutti_error *err)
{
    stage *s = ctx;
    (void)snprintf(s->own.path, sizeof s->own.path, "%s", path);
    (void)err;
    return TUTTI_OK;
}

static inline int32_t stage_owns(void *ctx, const char *path)
{
    const stage *s = ctx;
    return s->own.follows && strcmp(s->own.path, path) == 0;
}

#endif
