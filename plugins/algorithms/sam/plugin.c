/* plugin.c - sam: sharpness-aware minimisation, two evaluations of the batch in one step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../norm.h"
#include "climb.h"
#include "tutti/closure.h"
#include "tutti/stateful.h"

typedef struct sam {
    norm norm;
    double rho;
    double epsilon;
    int64_t interval;
    int64_t steps;           /* so far; in checkpoints */
    algorithm_memory before; /* the weights that were moved away, span after span */
    uint32_t kernel;
    uint32_t reserved;
} sam;

TUTTI_EXPORT void climb_cpu(float *w, const float *g, float *before, const float *scale,
                            int64_t n);

void climb_cpu(float *w, const float *g, float *before, const float *scale, int64_t n)
{
    const float s = *scale;
    for (int64_t k = 0; k < n; k++) {
        before[k] = w[k];
        w[k] = climb_weight(w[k], g[k], s);
    }
}

static tutti_status sam_close(void *self, tutti_error *err)
{
    sam *s = self;
    (void)err;
    norm_fini(&s->norm);
    algorithm_give(&s->norm.device, &s->before);
    free(s);
    return TUTTI_OK;
}

static tutti_status sam_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"climb"};
    sam *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "sam: no memory");
    s->rho = tutti_param_f64(params, "rho");
    s->epsilon = tutti_param_f64(params, "epsilon");
    s->interval = tutti_param_i64(params, "interval");
    tutti_status found = norm_init(&s->norm, host, "sam", err);
    if (found || (found = algorithm_kernels(&s->norm.device, names, 1, &s->kernel, err))) {
        (void)sam_close(s, NULL);
        return found;
    }
    *ret_self = s;
    return TUTTI_OK;
}

/* The work is done in step; nothing is left for an event. */
static int32_t sam_match(void *self, const tutti_event *event)
{
    (void)self, (void)event;
    return 0;
}

static tutti_status sam_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                              tutti_error *err)
{
    (void)self, (void)event, (void)ret_exit_code, (void)err;
    return TUTTI_OK;
}

/* Calls `visit` for every trained span with its part of `before`. */
static tutti_status sam_each(sam *s,
                             tutti_status (*visit)(sam *s, tutti_span *span, float *before,
                                                   float *scale, tutti_error *err),
                             float *scale, tutti_error *err)
{
    const tutti_device_view_v1 *v = s->norm.device.view;
    const uint32_t nspans = v->spans(v->ctx);
    float *before = s->before.data;
    tutti_status status = TUTTI_OK;
    for (uint32_t k = 0; k < nspans && !status; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(v, k, &span, err);
        status = trained == 1 ? visit(s, &span, before, scale, err) : trained;
        if (trained == 1 && before)
            before += span.n;
    }
    return status;
}

static tutti_status make_room(sam *s, tutti_error *err)
{
    const tutti_device_view_v1 *v = s->norm.device.view;
    const uint32_t nspans = v->spans(v->ctx);
    uint64_t count = 0;
    for (uint32_t k = 0; k < nspans; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(v, k, &span, err);
        if (trained < 0)
            return trained;
        count += trained ? (uint64_t)span.n : 0;
    }
    return algorithm_take(&s->norm.device, &s->before, count * sizeof(float), err);
}

/* Keeps the weights and moves them by scale times their gradients. */
static tutti_status sam_climb(sam *s, tutti_span *span, float *before, float *scale,
                              tutti_error *err)
{
    return algorithm_launch(&s->norm.device, s->kernel, err, &span->w, &span->g, &before,
                            &scale, &span->n);
}

static tutti_status sam_descend(sam *s, tutti_span *span, float *before, float *unused,
                                tutti_error *err)
{
    const tutti_device_view_v1 *v = s->norm.device.view;
    (void)unused;
    return v->copy(v->ctx, span->w, before, (uint64_t)span->n * sizeof *before,
                   TUTTI_COPY_ON_DEVICE, err);
}

static tutti_status sharp_step(sam *s, const tutti_closure *c, tutti_error *err)
{
    tutti_evaluation e;
    float *scale;
    tutti_status status = c->evaluate(c->ctx, &e, err);
    if (status || !e.finite || (status = make_room(s, err)) ||
        (status = norm_divide(&s->norm, s->rho, s->epsilon, (double)INFINITY, &scale, err)) ||
        (status = sam_each(s, sam_climb, scale, err)))
        return status;
    status = c->evaluate(c->ctx, &e, err);
    tutti_error later = TUTTI_ERROR_INIT;
    const tutti_status back = sam_each(s, sam_descend, NULL, status ? &later : err);
    if (status || back || !e.finite)
        return status ? status : back;
    return c->update(c->ctx, err);
}

static tutti_status sam_step(void *self, const tutti_closure *c, tutti_error *err)
{
    sam *s = self;
    tutti_evaluation e;
    if (++s->steps % s->interval == 0)
        return sharp_step(s, c, err);
    const tutti_status status = c->evaluate(c->ctx, &e, err);
    return status || !e.finite ? status : c->update(c->ctx, err);
}

static tutti_status sam_items(void *self, tutti_state_item *list, uint32_t capacity,
                              uint32_t *ret_count, tutti_error *err)
{
    sam *s = self;
    (void)err;
    *ret_count = 1;
    if (capacity >= 1) {
        memset(list, 0, sizeof *list);
        memcpy(list->name, "steps", sizeof "steps");
        list->tensor.data = &s->steps;
        list->tensor.desc.dtype = TUTTI_I64;
        list->tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static const void *sam_query(void *self, const char *interface_id)
{
    static const tutti_optimizer_wrapper_v1 wrapper = {
        .struct_size = sizeof wrapper, .step = sam_step, .flags = TUTTI_WRAPPER_NO_LOSS};
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = sam_items};
    (void)self;
    if (strcmp(interface_id, TUTTI_OPTIMIZER_WRAPPER_V1) == 0)
        return &wrapper;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = sam_open,
                                  .match = sam_match,
                                  .apply = sam_apply,
                                  .close = sam_close,
                                  .query = sam_query};
static const tutti_object object = TUTTI_OBJECT_INIT("sam", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.sam", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
