/* plugin.c - sam: sharpness-aware minimisation, two evaluations of the batch in one step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/closure.h"
#include "tutti/stateful.h"
#include "tutti/weights.h"

#include <math.h>

typedef struct sam {
    const tutti_weights_v1 *weights;
    double rho;
    double epsilon;
    int64_t interval;
    int64_t steps;           /* so far; in checkpoints */
    algorithm_buffer before; /* the weights that were moved away, one after the other */
} sam;

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    const tutti_weights_v1 *weights = algorithm_service(host, "sam", TUTTI_WEIGHTS_V1, err);
    if (!weights)
        return TUTTI_E_UNSUPPORTED;
    sam *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "sam: no memory");
    s->weights = weights;
    s->rho = tutti_param_f64(params, "rho");
    s->epsilon = tutti_param_f64(params, "epsilon");
    s->interval = tutti_param_i64(params, "interval");
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    sam *s = self;
    (void)err;
    free(s->before.data);
    free(s);
    return TUTTI_OK;
}

/* The work is done in step; nothing is left for an event. */
static int32_t match(void *self, const tutti_event *event)
{
    (void)self, (void)event;
    return 0;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    (void)self, (void)event, (void)ret_exit_code, (void)err;
    return TUTTI_OK;
}

/* The k-th weight, *ret_n elements of it: 0 for one that is not trained. */
static tutti_status trained(const sam *s, uint32_t k, tutti_weight *ret, int64_t *ret_n,
                            tutti_error *err)
{
    *ret = (tutti_weight){.struct_size = sizeof *ret};
    const tutti_status status = s->weights->at(s->weights->ctx, k, ret, err);
    *ret_n = status == TUTTI_OK && ret->grad ? tutti_numel(&ret->data.desc) : 0;
    return status;
}

/* Norm of all gradients as one vector, and how many numbers that is. */
static tutti_status measure(const sam *s, double *ret_norm, uint64_t *ret_count,
                            tutti_error *err)
{
    const uint32_t count = s->weights->count(s->weights->ctx);
    double sum = 0.0;
    *ret_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        tutti_weight w;
        int64_t n;
        const tutti_status status = trained(s, k, &w, &n, err);
        if (status)
            return status;
        const float *g = w.grad;
        for (int64_t i = 0; i < n; i++)
            sum += (double)g[i] * (double)g[i];
        *ret_count += (uint64_t)n;
    }
    *ret_norm = sqrt(sum);
    return TUTTI_OK;
}

/* Keeps every trained weight and moves it by scale times its gradient. */
static tutti_status climb(sam *s, float scale, tutti_error *err)
{
    const uint32_t count = s->weights->count(s->weights->ctx);
    float *keep = s->before.data;
    for (uint32_t k = 0; k < count; k++) {
        tutti_weight w;
        int64_t n;
        const tutti_status status = trained(s, k, &w, &n, err);
        if (status)
            return status;
        float *data = w.data.data;
        const float *g = w.grad;
        for (int64_t i = 0; i < n; i++) {
            keep[i] = data[i];
            data[i] += scale * g[i];
        }
        keep += n;
    }
    return TUTTI_OK;
}

static tutti_status descend(sam *s, tutti_error *err)
{
    const uint32_t count = s->weights->count(s->weights->ctx);
    const float *keep = s->before.data;
    for (uint32_t k = 0; k < count; k++) {
        tutti_weight w;
        int64_t n;
        const tutti_status status = trained(s, k, &w, &n, err);
        if (status)
            return status;
        if (n > 0)
            memcpy(w.data.data, keep, (size_t)n * sizeof *keep);
        keep += n;
    }
    return TUTTI_OK;
}

static tutti_status sharp_step(sam *s, const tutti_closure *c, tutti_error *err)
{
    tutti_evaluation e;
    double norm;
    uint64_t count;
    tutti_status status = c->evaluate(c->ctx, &e, err);
    if (status || !e.finite || (status = measure(s, &norm, &count, err)) ||
        (status = algorithm_room(&s->before, count * sizeof(float), "sam", err)) ||
        (status = climb(s, (float)(s->rho / (norm + s->epsilon)), err)))
        return status;
    status = c->evaluate(c->ctx, &e, err);
    tutti_error later = TUTTI_ERROR_INIT;
    const tutti_status back = descend(s, status ? &later : err);
    if (status || back || !e.finite)
        return status ? status : back;
    return c->update(c->ctx, err);
}

static tutti_status step(void *self, const tutti_closure *c, tutti_error *err)
{
    sam *s = self;
    tutti_evaluation e;
    if (++s->steps % s->interval == 0)
        return sharp_step(s, c, err);
    const tutti_status status = c->evaluate(c->ctx, &e, err);
    return status || !e.finite ? status : c->update(c->ctx, err);
}

static tutti_status items(void *self, tutti_state_item *list, uint32_t room,
                          uint32_t *ret_count, tutti_error *err)
{
    sam *s = self;
    (void)err;
    *ret_count = 1;
    if (room >= 1) {
        memset(list, 0, sizeof *list);
        memcpy(list->name, "steps", sizeof "steps");
        list->tensor.data = &s->steps;
        list->tensor.desc.dtype = TUTTI_I64;
        list->tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static const void *query(void *self, const char *interface_id)
{
    static const tutti_optimizer_wrapper_v1 wrapper = {sizeof wrapper, 0, step};
    static const tutti_stateful_v1 stateful = {sizeof stateful, 0, items, NULL};
    (void)self;
    if (strcmp(interface_id, TUTTI_OPTIMIZER_WRAPPER_V1) == 0)
        return &wrapper;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

static const tutti_calls calls = {sizeof calls, 0,     open, match, apply,
                                  NULL,         close, NULL, query};
static const tutti_object object = TUTTI_OBJECT_INIT("sam", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.sam", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
