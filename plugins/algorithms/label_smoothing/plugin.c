/* plugin.c - label_smoothing: targets a little towards uniform while the loss is computed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"

typedef struct smoother {
    const tutti_state_v1 *state;
    double smoothing;
    algorithm_buffer soft;
    algorithm_buffer kept; /* the targets before smoothing */
    tutti_desc kept_desc;
    int32_t held; /* `kept` is to be put back */
    int32_t reserved;
} smoother;

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    const tutti_state_v1 *state =
        algorithm_service(host, "label_smoothing", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    smoother *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "label_smoothing: no memory");
    s->state = state;
    s->smoothing = tutti_param_f64(params, "smoothing");
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    smoother *s = self;
    (void)err;
    free(s->soft.data);
    free(s->kept.data);
    free(s);
    return TUTTI_OK;
}

static int32_t match(void *self, const tutti_event *event)
{
    if (event->id == TUTTI_EVENT_BEFORE_LOSS)
        return 1;
    return event->id == TUTTI_EVENT_AFTER_LOSS && ((smoother *)self)->held;
}

static tutti_status smooth(smoother *s, tutti_error *err)
{
    const tutti_state_v1 *state = s->state;
    tutti_tensor target, outputs;
    tutti_status status = state->get(state->ctx, "target", &target, err);
    if (status || (status = state->get(state->ctx, "outputs", &outputs, err)))
        return status;
    const uint64_t bytes = tutti_nbytes(&target.desc);
    if ((status = algorithm_room(&s->kept, bytes, "label_smoothing", err)) ||
        (status =
             algorithm_room(&s->soft, tutti_nbytes(&outputs.desc), "label_smoothing", err)) ||
        (status =
             algorithm_soften("label_smoothing", &target, &outputs.desc, s->soft.data, err)))
        return status;
    if (bytes)
        memcpy(s->kept.data, target.data, bytes);
    s->kept_desc = target.desc;

    float *y = s->soft.data;
    const int64_t n = tutti_numel(&outputs.desc);
    const double classes = (double)outputs.desc.dim[outputs.desc.rank - 1];
    const float keep = (float)(1.0 - s->smoothing), add = (float)(s->smoothing / classes);
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] * keep + add;
    const tutti_tensor smoothed = algorithm_view(y, &outputs.desc);
    if ((status = state->set(state->ctx, "target", &smoothed, err)))
        return status;
    s->held = 1;
    return TUTTI_OK;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    smoother *s = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_BEFORE_LOSS)
        return smooth(s, err);
    const tutti_tensor before = {s->kept.data, s->kept_desc, TUTTI_DEVICE_CPU, 0};
    s->held = 0;
    return s->state->set(s->state->ctx, "target", &before, err);
}

static const tutti_calls calls = {sizeof calls, 0, open, match, apply, NULL, close, NULL, NULL};
static const tutti_object object =
    TUTTI_OBJECT_INIT("label_smoothing", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.label_smoothing", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
