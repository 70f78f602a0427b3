/* plugin.c - gyro_dropout: dropout that keeps a few of its masks for many batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

typedef struct gyros {
    const tutti_host *host;
    const tutti_state_v1 *state;
    double p;
    int64_t sigma;
    int64_t tau;
    int64_t period; /* whose masks are in place; -1: none */
    int64_t length; /* of a period, in batches; 0 while it is not known */
} gyros;

static tutti_status gyro_dropout_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = algorithm_service(host, "gyro_dropout", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    gyros *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "gyro_dropout: no memory");
    a->host = host;
    a->state = state;
    a->p = tutti_param_f64(params, "p");
    a->sigma = tutti_param_i64(params, "sigma");
    a->tau = tutti_param_i64(params, "tau");
    a->period = -1;
    *ret_self = a;
    return TUTTI_OK;
}

static int32_t gyro_dropout_match(void *self, const tutti_event *event)
{
    const gyros *a = self;
    return event->id == TUTTI_EVENT_INIT ||
           (event->id == TUTTI_EVENT_BATCH_START &&
            (a->length == 0 || event->time->batch / a->length != a->period));
}

static tutti_status replace_all(const gyros *a, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_f("p", a->p), tutti_attr_i("sigma", a->sigma),
                                tutti_attr_i("tau", a->tau)};
    surgery v = {NULL, NULL, 0, 0};
    tutti_status status = surgery_find(a->host, "gyro_dropout", "dropout", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = surgery_rebuild(v.s, v.list[k], "gyro_dropout_layer", attr, 3, err);
    free(v.list);
    if (status == TUTTI_OK)
        surgery_report(a->host, "GyroDropout/num_new_modules", v.count,
                       "gyro_dropout has no effect: the model has no dropout");
    return status;
}

/* whole part of (batches of the run / sigma) * tau, at least tau */
static tutti_status find_length(gyros *a, tutti_error *err)
{
    const tutti_time *max = a->state->max_duration;
    const int64_t epoch = a->state->dataloader_len(a->state->ctx);
    if (max->unit != TUTTI_UNIT_BATCH && (max->unit != TUTTI_UNIT_EPOCH || epoch < 1))
        return tutti_fail(
            err, TUTTI_E_UNSUPPORTED,
            "gyro_dropout: max_duration must be in batches, or in epochs of a known "
            "length");
    const int64_t total = max->unit == TUTTI_UNIT_BATCH ? max->count : max->count * epoch;
    a->length = (total / a->sigma > 0 ? total / a->sigma : 1) * a->tau;
    return TUTTI_OK;
}

/* Draws which masks every layer has in this period: a function of seed, place and period. */
static tutti_status select_masks(const gyros *a, int64_t period, tutti_error *err)
{
    surgery v = {NULL, NULL, 0, 0};
    int32_t *selection = malloc((size_t)a->tau * sizeof *selection);
    if (!selection)
        return tutti_fail(err, TUTTI_E_NOMEM, "gyro_dropout: no memory");
    tutti_status status =
        surgery_find(a->host, "gyro_dropout", "gyro_dropout_layer", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++) {
        const uint64_t place = tutti_hash(v.s->path(v.s->ctx, v.list[k]));
        tutti_stream r = tutti_stream_at(
            *a->state->seed, TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("gyro_dropout"), place,
            1 + (uint64_t)period);
        for (int64_t j = 0; j < a->tau; j++)
            selection[j] = (int32_t)tutti_stream_below(&r, (uint32_t)a->sigma);
        status = v.s->set_weight(v.s->ctx, v.list[k], "selection", selection,
                                 (uint64_t)a->tau * sizeof *selection, err);
    }
    free(selection);
    free(v.list);
    return status;
}

static tutti_status gyro_dropout_apply(void *self, const tutti_event *event,
                                       int64_t *ret_exit_code, tutti_error *err)
{
    gyros *a = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_INIT)
        return replace_all(a, err);
    tutti_status status = a->length ? TUTTI_OK : find_length(a, err);
    if (status)
        return status;
    const int64_t period = event->time->batch / a->length;
    if ((status = select_masks(a, period, err)) == TUTTI_OK)
        a->period = period;
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = gyro_dropout_open,
                                  .match = gyro_dropout_match,
                                  .apply = gyro_dropout_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("gyro_dropout", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &gyro_dropout_layer_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.gyro_dropout", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
