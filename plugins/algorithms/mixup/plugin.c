/* plugin.c - mixup: every sample mixed with another of its microbatch, and so its target or loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/train.h"

#include "beta.h"

typedef struct mixup {
    const tutti_state_v1 *state;
    const tutti_train_v1 *train; /* only to interpolate losses */
    double alpha;
    double weight;          /* of the other sample, 0 to 0.5; drawn for this microbatch */
    int64_t count;          /* samples in this microbatch */
    algorithm_buffer order; /* u32 (count): whom each sample is mixed with */
    algorithm_buffer copy;
    algorithm_buffer soft;
    int32_t interpolate_loss;
    int32_t reserved;
} mixup;

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    const int32_t interpolate = tutti_param_i64(params, "interpolate_loss") != 0;
    const tutti_state_v1 *state = algorithm_service(host, "mixup", TUTTI_STATE_V1, err);
    const tutti_train_v1 *train =
        interpolate ? algorithm_service(host, "mixup", TUTTI_TRAIN_V1, err) : NULL;
    if (!state || (interpolate && !train))
        return TUTTI_E_UNSUPPORTED;
    mixup *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mixup: no memory");
    m->state = state;
    m->train = train;
    m->alpha = tutti_param_f64(params, "alpha");
    m->interpolate_loss = interpolate;
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    mixup *m = self;
    (void)err;
    free(m->order.data);
    free(m->copy.data);
    free(m->soft.data);
    free(m);
    return TUTTI_OK;
}

static int32_t match(void *self, const tutti_event *event)
{
    const int32_t mixes_at = ((mixup *)self)->interpolate_loss ? TUTTI_EVENT_BEFORE_BACKWARD
                                                               : TUTTI_EVENT_BEFORE_LOSS;
    return event->id == TUTTI_EVENT_BEFORE_FORWARD || event->id == mixes_at;
}

/* Who is mixed with whom, and how much; a pure function of seed, step and microbatch. */
static tutti_status draw(mixup *m, uint64_t step, int64_t count, tutti_error *err)
{
    if (count > UINT32_MAX)
        return tutti_fail(err, TUTTI_E_RANGE, "mixup: a batch of %lld samples is too large",
                          (long long)count);
    const tutti_status status =
        algorithm_room(&m->order, (uint64_t)count * sizeof(uint32_t), "mixup", err);
    if (status)
        return status;
    tutti_stream r = algorithm_stream(m->state, "mixup", step);
    const double lambda = beta_symmetric(&r, m->alpha);
    m->weight = lambda < 1.0 - lambda ? lambda : 1.0 - lambda;
    m->count = count;
    uint32_t *order = m->order.data;
    for (uint32_t k = 0; k < (uint32_t)count; k++)
        order[k] = k;
    for (uint32_t k = (uint32_t)count; k > 1; k--) { /* Fisher and Yates */
        const uint32_t j = tutti_stream_below(&r, k), held = order[k - 1];
        order[k - 1] = order[j];
        order[j] = held;
    }
    return TUTTI_OK;
}

/* x[k] = (1 - weight) x[k] + weight x[order[k]] for rows of `width` numbers. */
static tutti_status mix(mixup *m, float *x, int64_t width, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)m->count * (uint64_t)width * sizeof *x;
    const tutti_status status = algorithm_room(&m->copy, bytes, "mixup", err);
    if (status || bytes == 0)
        return status;
    memcpy(m->copy.data, x, bytes);
    const uint32_t *order = m->order.data;
    const float a = (float)(1.0 - m->weight), b = (float)m->weight;
    for (int64_t k = 0; k < m->count; k++) {
        const float *other = (const float *)m->copy.data + (int64_t)order[k] * width;
        float *row = x + k * width;
        for (int64_t i = 0; i < width; i++)
            row[i] = a * row[i] + b * other[i];
    }
    return TUTTI_OK;
}

static tutti_status mix_inputs(mixup *m, uint64_t step, tutti_error *err)
{
    tutti_tensor x;
    char text[96];
    tutti_status status = m->state->get(m->state->ctx, "input", &x, err);
    if (status)
        return status;
    if (x.desc.dtype != TUTTI_F32 || x.desc.rank < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mixup: the input is %s, want F32; add the transform normalize",
                          tutti_desc_text(&x.desc, text, sizeof text));
    if ((status = draw(m, step, x.desc.dim[0], err)) || m->weight == 0.0)
        return status;
    return mix(m, x.data, (int64_t)(algorithm_row(&x.desc) / sizeof(float)), err);
}

/* The targets as they are now; their first dimension must still be the microbatch. */
static tutti_status find_targets(mixup *m, tutti_tensor *target, tutti_error *err)
{
    char text[96];
    const tutti_status status = m->state->get(m->state->ctx, "target", target, err);
    if (status)
        return status;
    if (target->desc.rank < 1 || target->desc.dim[0] != m->count)
        return tutti_fail(err, TUTTI_E_SHAPE, "mixup: the target is %s, want %lld samples",
                          tutti_desc_text(&target->desc, text, sizeof text),
                          (long long)m->count);
    return TUTTI_OK;
}

static tutti_status mix_targets(mixup *m, tutti_error *err)
{
    tutti_tensor target, outputs;
    tutti_status status = find_targets(m, &target, err);
    if (status || (status = m->state->get(m->state->ctx, "outputs", &outputs, err)) ||
        (status = algorithm_room(&m->soft, tutti_nbytes(&outputs.desc), "mixup", err)) ||
        (status = algorithm_soften("mixup", &target, &outputs.desc, m->soft.data, err)) ||
        (status = mix(m, m->soft.data, (int64_t)(algorithm_row(&outputs.desc) / sizeof(float)),
                      err)))
        return status;
    const tutti_tensor mixed = algorithm_view(m->soft.data, &outputs.desc);
    return m->state->set(m->state->ctx, "target", &mixed, err);
}

/* loss = (1 - weight) loss + weight loss(outputs, target of the other sample) */
static tutti_status mix_loss(mixup *m, tutti_error *err)
{
    tutti_tensor target;
    tutti_status status = find_targets(m, &target, err);
    const uint64_t row = status ? 0 : algorithm_row(&target.desc);
    if (status || (status = algorithm_room(&m->soft, row * (uint64_t)m->count, "mixup", err)))
        return status;
    const uint32_t *order = m->order.data;
    for (int64_t k = 0; k < m->count; k++)
        memcpy((char *)m->soft.data + (uint64_t)k * row,
               (const char *)target.data + order[k] * row, row);
    target.data = m->soft.data;
    return m->train->mix_loss(m->train->ctx, &target, m->weight, err);
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    mixup *m = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_BEFORE_FORWARD)
        return mix_inputs(m, event->step, err);
    if (m->weight == 0.0)
        return TUTTI_OK;
    return m->interpolate_loss ? mix_loss(m, err) : mix_targets(m, err);
}

static const tutti_calls calls = {sizeof calls, 0, open, match, apply, NULL, close, NULL, NULL};
static const tutti_object object = TUTTI_OBJECT_INIT("mixup", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.mixup", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
