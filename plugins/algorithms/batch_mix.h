/* batch_mix.h - samples of a microbatch mixed with a permutation of them (mixup, cutmix), and their targets or losses. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_BATCH_MIX_H
#define PLUGIN_BATCH_MIX_H

#include "batch.h"
#include "batch_mix_step.h"
#include "tutti/train.h"

/* Kernels of batch_mix.cu that a manifest names in this order; an algorithm's own follow. */
enum { BATCH_MIX_BLEND, BATCH_MIX_BLEND_TARGETS, BATCH_MIX_PICK, BATCH_MIX_KERNELS };
#define BATCH_MIX_NAMES "batch_mix_blend", "batch_mix_blend_targets", "batch_mix_pick"

/* What mixup and cutmix remember from a microbatch's inputs to its targets or loss. */
typedef struct batch_mix {
    algorithm_device device;
    const tutti_state_v1 *state;
    const tutti_train_v1 *train;  /* only to blend losses */
    double weight;                /* of the other sample */
    int64_t count;                /* samples in this microbatch */
    algorithm_buffer perm;        /* u32 (count): the sample that each is mixed with */
    algorithm_memory device_perm; /* the same for kernels */
    algorithm_memory picked;      /* targets of the other samples */
    uint32_t kernel[BATCH_MIX_KERNELS + 1];
    int32_t interpolate_loss;
    int32_t reserved;
} batch_mix;

/* ---- the manifest's kernels ---- */

TUTTI_EXPORT void batch_mix_blend_cpu(const float *x, float *y, const uint32_t *perm, float a,
                                      float b, int64_t width, int64_t n);
TUTTI_EXPORT void batch_mix_blend_targets_cpu(const void *x, float *y, const uint32_t *perm,
                                              float a, float b, int32_t kind, int64_t classes,
                                              int64_t width, int64_t n);
TUTTI_EXPORT void batch_mix_pick_cpu(const uint8_t *x, uint8_t *y, const uint32_t *perm,
                                     int64_t row, int64_t unit, int64_t n);

void batch_mix_blend_cpu(const float *x, float *y, const uint32_t *perm, float a, float b,
                         int64_t width, int64_t n)
{
    for (int64_t k = 0; k * width < n; k++) {
        const float *own = x + k * width, *other = x + (int64_t)perm[k] * width;
        float *row = y + k * width;
        for (int64_t i = 0; i < width; i++)
            row[i] = batch_mix_blended(own[i], other[i], a, b);
    }
}

void batch_mix_blend_targets_cpu(const void *x, float *y, const uint32_t *perm, float a,
                                 float b, int32_t kind, int64_t classes, int64_t width,
                                 int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        y[k] = batch_mix_target_at(x, perm, a, b, kind, classes, width, k);
}

void batch_mix_pick_cpu(const uint8_t *x, uint8_t *y, const uint32_t *perm, int64_t row,
                        int64_t unit, int64_t n)
{
    batch_pick(x, y, perm, row, unit, n);
}

/* ---- services ---- */

/* Reads the settings interpolate_loss, input_key and target_key, finds services and the kernels called `names`. */
static inline tutti_status batch_mix_open(batch_mix *p, const char *who, const tutti_host *host,
                                          const tutti_params *params, const char *const *names,
                                          uint32_t nnames, tutti_error *err)
{
    const int32_t interpolate = tutti_param_i64(params, "interpolate_loss") != 0;
    *p = (batch_mix){.interpolate_loss = interpolate};
    p->state = algorithm_service(host, who, TUTTI_STATE_V1, err);
    p->train = interpolate ? algorithm_service(host, who, TUTTI_TRAIN_V1, err) : NULL;
    if (!p->state || (interpolate && !p->train))
        return TUTTI_E_UNSUPPORTED;
    const tutti_status s = batch_open(&p->device, host, who, names, nnames, p->kernel, err);
    if (s == TUTTI_OK)
        batch_keys(&p->device, params);
    return s;
}

static inline void batch_mix_fini(batch_mix *p)
{
    free(p->perm.data);
    algorithm_give(&p->device, &p->device_perm);
    algorithm_give(&p->device, &p->picked);
}

/* Inputs are changed on before_forward, then targets on before_loss or losses on before_backward. */
static inline int32_t batch_mix_match(const batch_mix *p, const tutti_event *event)
{
    return event->id == TUTTI_EVENT_BEFORE_FORWARD ||
           event->id ==
               (p->interpolate_loss ? TUTTI_EVENT_BEFORE_BACKWARD : TUTTI_EVENT_BEFORE_LOSS);
}

/* ---- a microbatch ---- */

static inline tutti_status batch_mix_draw(batch_mix *p, tutti_stream *r, int64_t count,
                                          tutti_error *err)
{
    const char *who = p->device.who;
    if (count > UINT32_MAX)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: a batch of %lld samples is too large", who,
                          (long long)count);
    const uint64_t bytes = (uint64_t)count * sizeof(uint32_t);
    const tutti_status status = algorithm_reserve(&p->perm, bytes, who, err);
    if (status)
        return status;
    algorithm_shuffle(r, p->perm.data, (uint32_t)count);
    p->count = count;
    return batch_send(&p->device, &p->device_perm, p->perm.data, bytes, err);
}

/* The input: x[k] = (1 - weight) x[k] + weight x[perm[k]]. */
static inline tutti_status batch_mix_blend_inputs(batch_mix *p, const tutti_desc *input,
                                                  tutti_error *err)
{
    tutti_tensor x, y;
    const tutti_status status = batch_renew(&p->device, p->device.input, input, &x, &y, err);
    if (status)
        return status;
    float a = (float)(1.0 - p->weight), b = (float)p->weight;
    int64_t n = tutti_numel(input), width = p->count ? n / p->count : 1;
    return algorithm_launch(&p->device, p->kernel[BATCH_MIX_BLEND], err, &x.data, &y.data,
                            &p->device_perm.data, &a, &b, &width, &n);
}

/* The targets as they are now; their first dimension must still be the microbatch.  *ret_target
 * counts only on success. */
static inline tutti_status batch_mix_target(const batch_mix *p, tutti_tensor *ret_target,
                                            tutti_error *err)
{
    char text[96];
    const tutti_desc *d = &ret_target->desc;
    const tutti_status status = batch_get(&p->device, p->device.target, ret_target, err);
    if (status)
        return status;
    if (d->rank < 1 || d->dim[0] != p->count)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: the target is %s, want %lld samples",
                          p->device.who, tutti_desc_text(d, text, sizeof text),
                          (long long)p->count);
    return TUTTI_OK;
}

/* Targets become probabilities, blended as the inputs were. */
static inline tutti_status batch_mix_blend_targets(batch_mix *p, tutti_error *err)
{
    tutti_tensor target, y;
    tutti_desc outputs;
    batch_soft soft;
    tutti_status status = batch_mix_target(p, &target, err);
    if (status || (status = batch_describe(&p->device, "outputs", &outputs, err)) ||
        (status = batch_soften(p->device.who, &target, &outputs, &soft, err)))
        return status;
    outputs.dtype = TUTTI_F32;
    if ((status =
             p->device.view->renew(p->device.view->ctx, p->device.target, &outputs, &y, err)))
        return status;
    float a = (float)(1.0 - p->weight), b = (float)p->weight;
    int64_t n = tutti_numel(&outputs), width = p->count ? n / p->count : 1;
    return algorithm_launch(&p->device, p->kernel[BATCH_MIX_BLEND_TARGETS], err, &soft.data,
                            &y.data, &p->device_perm.data, &a, &b, &soft.kind, &soft.classes,
                            &width, &n);
}

/* loss = (1 - weight) loss + weight loss(outputs, targets of the other samples) */
static inline tutti_status batch_mix_blend_loss(batch_mix *p, tutti_error *err)
{
    tutti_tensor target;
    tutti_status status = batch_mix_target(p, &target, err);
    if (status ||
        (status = algorithm_take(&p->device, &p->picked, tutti_nbytes(&target.desc), err)))
        return status;
    if ((status = batch_launch_pick(&p->device, p->kernel[BATCH_MIX_PICK], &target,
                                    p->picked.data, p->device_perm.data, p->count, err)))
        return status;
    target.data = p->picked.data;
    return p->train->mix_loss(p->train->ctx, &target, p->weight, err);
}

#endif
