/* partners.h - samples of a microbatch paired with others, and their targets or losses blended. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PARTNERS_H
#define PLUGIN_PARTNERS_H

#include "algorithm.h"
#include "tutti/train.h"

/* What mixup and cutmix remember from a microbatch's inputs to its targets or loss. */
typedef struct partners {
    const char *who;
    const tutti_state_v1 *state;
    const tutti_train_v1 *train; /* only to blend losses */
    double weight;               /* of the other sample */
    int64_t count;               /* samples in this microbatch */
    algorithm_buffer order;      /* u32 (count): each sample's partner */
    algorithm_buffer copy;
    algorithm_buffer soft;
    int32_t interpolate_loss;
    int32_t reserved;
} partners;

/* Reads the setting interpolate_loss and finds the services. */
static inline tutti_status partners_open(partners *p, const char *who, const tutti_host *host,
                                         const tutti_params *params, tutti_error *err)
{
    const int32_t interpolate = tutti_param_i64(params, "interpolate_loss") != 0;
    *p = (partners){.who = who, .interpolate_loss = interpolate};
    p->state = algorithm_service(host, who, TUTTI_STATE_V1, err);
    p->train = interpolate ? algorithm_service(host, who, TUTTI_TRAIN_V1, err) : NULL;
    return p->state && (!interpolate || p->train) ? TUTTI_OK : TUTTI_E_UNSUPPORTED;
}

static inline void partners_fini(partners *p)
{
    free(p->order.data);
    free(p->copy.data);
    free(p->soft.data);
}

/* Inputs are changed on before_forward, then targets on before_loss or losses on before_backward. */
static inline int32_t partners_match(const partners *p, const tutti_event *event)
{
    return event->id == TUTTI_EVENT_BEFORE_FORWARD ||
           event->id ==
               (p->interpolate_loss ? TUTTI_EVENT_BEFORE_BACKWARD : TUTTI_EVENT_BEFORE_LOSS);
}

static inline tutti_status partners_draw(partners *p, tutti_stream *r, int64_t count,
                                         tutti_error *err)
{
    if (count > UINT32_MAX)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: a batch of %lld samples is too large",
                          p->who, (long long)count);
    const tutti_status status =
        algorithm_room(&p->order, (uint64_t)count * sizeof(uint32_t), p->who, err);
    if (status == TUTTI_OK) {
        algorithm_shuffle(r, p->order.data, (uint32_t)count);
        p->count = count;
    }
    return status;
}

/* x[k] = (1 - weight) x[k] + weight x[order[k]] for rows of `width` numbers. */
static inline tutti_status partners_blend(partners *p, float *x, int64_t width,
                                          tutti_error *err)
{
    const uint64_t bytes = (uint64_t)p->count * (uint64_t)width * sizeof *x;
    const tutti_status status = algorithm_room(&p->copy, bytes, p->who, err);
    if (status || bytes == 0)
        return status;
    memcpy(p->copy.data, x, bytes);
    const uint32_t *order = p->order.data;
    const float a = (float)(1.0 - p->weight), b = (float)p->weight;
    for (int64_t k = 0; k < p->count; k++) {
        const float *other = (const float *)p->copy.data + (int64_t)order[k] * width;
        float *row = x + k * width;
        for (int64_t i = 0; i < width; i++)
            row[i] = a * row[i] + b * other[i];
    }
    return TUTTI_OK;
}

/* The targets as they are now; their first dimension must still be the microbatch.  *ret_target
 * counts only on success. */
static inline tutti_status partners_target(const partners *p, tutti_tensor *ret_target,
                                           tutti_error *err)
{
    char text[96];
    const tutti_desc *d = &ret_target->desc;
    const tutti_status status = p->state->get(p->state->ctx, "target", ret_target, err);
    if (status)
        return status;
    if (d->rank < 1 || d->dim[0] != p->count)
        return tutti_fail(err, TUTTI_E_SHAPE, "%s: the target is %s, want %lld samples", p->who,
                          tutti_desc_text(d, text, sizeof text), (long long)p->count);
    return TUTTI_OK;
}

/* Targets become probabilities, blended as partners_blend does. */
static inline tutti_status partners_blend_targets(partners *p, tutti_error *err)
{
    tutti_tensor target, outputs;
    tutti_status status = partners_target(p, &target, err);
    if (status || (status = p->state->get(p->state->ctx, "outputs", &outputs, err)) ||
        (status = algorithm_room(&p->soft, tutti_nbytes(&outputs.desc), p->who, err)) ||
        (status = algorithm_soften(p->who, &target, &outputs.desc, p->soft.data, err)) ||
        (status = partners_blend(p, p->soft.data,
                                 (int64_t)(algorithm_row(&outputs.desc) / sizeof(float)), err)))
        return status;
    const tutti_tensor blended = algorithm_view(p->soft.data, &outputs.desc);
    return p->state->set(p->state->ctx, "target", &blended, err);
}

/* loss = (1 - weight) loss + weight loss(outputs, targets of the partners) */
static inline tutti_status partners_blend_loss(partners *p, tutti_error *err)
{
    tutti_tensor target;
    tutti_status status = partners_target(p, &target, err);
    const uint64_t row = status ? 0 : algorithm_row(&target.desc);
    if (status || (status = algorithm_room(&p->soft, row * (uint64_t)p->count, p->who, err)))
        return status;
    const uint32_t *order = p->order.data;
    for (int64_t k = 0; k < p->count; k++)
        memcpy((char *)p->soft.data + (uint64_t)k * row,
               (const char *)target.data + order[k] * row, row);
    target.data = p->soft.data;
    return p->train->mix_loss(p->train->ctx, &target, p->weight, err);
}

#endif
