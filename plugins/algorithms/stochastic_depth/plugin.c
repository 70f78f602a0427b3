/* plugin.c - stochastic_depth: residual blocks go without their main path now and then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

enum { LINEAR, UNIFORM }; /* as the manifest's values */

typedef struct depth {
    const tutti_host *host;
    const tutti_state_v1 *state;
    int64_t form;
    int64_t method;
    int64_t distribution;
    double rate;
    double warmup; /* fraction of the run in which the rate grows */
} depth;

static tutti_status stochastic_depth_check(const tutti_params *params, tutti_error *err)
{
    const double warmup = tutti_param_time(params, "drop_warmup").fraction;
    const int64_t method = tutti_param_i64(params, "stochastic_method");
    if (warmup < 0.0 || warmup > 1.0)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "stochastic_depth: drop_warmup is %gdur, want 0dur to 1dur", warmup);
    if (method == METHOD_SAMPLE && warmup > 0.0)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "stochastic_depth: drop_warmup goes with stochastic_method block only");
    return TUTTI_OK;
}

static tutti_status stochastic_depth_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state =
        algorithm_service(host, "stochastic_depth", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    depth *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "stochastic_depth: no memory");
    *d = (depth){host,
                 state,
                 tutti_param_i64(params, "target_layer_name"),
                 tutti_param_i64(params, "stochastic_method"),
                 tutti_param_i64(params, "drop_distribution"),
                 tutti_param_f64(params, "drop_rate"),
                 tutti_param_time(params, "drop_warmup").fraction};
    *ret_self = d;
    return TUTTI_OK;
}

static int32_t stochastic_depth_match(void *self, const tutti_event *event)
{
    const depth *d = self;
    return event->id == TUTTI_EVENT_INIT ||
           (event->id == TUTTI_EVENT_BATCH_START && d->warmup > 0.0) ||
           ((event->id == TUTTI_EVENT_BEFORE_DATALOADER ||
             event->id == TUTTI_EVENT_BEFORE_FORWARD) &&
            d->method == METHOD_BLOCK);
}

/* The chance that block k of n is dropped. */
static double rate_of(const depth *d, uint32_t k, uint32_t n, double rate)
{
    return d->distribution == LINEAR ? (double)(k + 1) / (double)n * rate : rate;
}

static tutti_status wrap_all(const depth *d, tutti_error *err)
{
    const tutti_log_v1 *log = d->host->query(d->host->ctx, TUTTI_LOG_V1);
    surgery v = {NULL, NULL, 0, 0};
    tutti_status status = surgery_find(
        d->host, "stochastic_depth", residual_forms[d->form].kind, "stochastic_block", &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++) {
        const tutti_attr attr[3] = {tutti_attr_i("form", d->form),
                                    tutti_attr_i("method", d->method),
                                    tutti_attr_f("p", rate_of(d, k, v.count, d->rate))};
        status = surgery_wrap(v.s, v.list[k], "stochastic_block", attr, 3, "block", err);
    }
    free(v.list);
    if (status)
        return status;
    surgery_report(d->host, "stochastic_depth/num_stochastic_layers", v.count,
                   "stochastic_depth has no effect: the model has no block of this name");
    if (log && d->rate == 0.0)
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "stochastic_depth has no effect: drop_rate is 0");
    return TUTTI_OK;
}

/* Writes a number of block m. */
static tutti_status stochastic_depth_write(const tutti_module_v1 *s, tutti_module m,
                                           const char *name, double value, tutti_error *err)
{
    const float number = (float)value;
    return s->set_weight(s->ctx, m, name, &number, sizeof number, err);
}

/* During the warm-up the rate grows with the run. */
static double rate_now(const depth *d)
{
    const double elapsed = d->state->elapsed(d->state->ctx);
    return elapsed >= 0.0 && elapsed < d->warmup ? d->rate * elapsed / d->warmup : d->rate;
}

static tutti_status set_rates(const depth *d, tutti_error *err)
{
    const tutti_metrics_v1 *metrics = d->host->query(d->host->ctx, TUTTI_METRICS_V1);
    const double rate = rate_now(d);
    surgery v = {NULL, NULL, 0, 0};
    tutti_status status =
        surgery_find(d->host, "stochastic_depth", "stochastic_block", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = stochastic_depth_write(v.s, v.list[k], "survive",
                                        1.0 - rate_of(d, k, v.count, rate), err);
    free(v.list);
    const tutti_named_value value = {"stochastic_depth/drop_rate", rate};
    if (status == TUTTI_OK && metrics)
        metrics->log(metrics->ctx, &value, 1);
    return status;
}

/* Draws which blocks this microbatch goes through.  What goes through the model before the first one
 * of a batch, to choose its samples, takes the same ones as that. */
static tutti_status stochastic_depth_draw(const depth *d, const tutti_event *event,
                                          tutti_error *err)
{
    surgery v = {NULL, NULL, 0, 0};
    const double rate = rate_now(d);
    tutti_stream r =
        event->id == TUTTI_EVENT_BEFORE_FORWARD
            ? algorithm_stream(d->state, "stochastic_depth", event->step)
            : tutti_stream_at(*d->state->seed,
                              TUTTI_RNG_PLUGIN ^ (uint32_t)tutti_hash("stochastic_depth"),
                              event->step, 0);
    tutti_status status =
        surgery_find(d->host, "stochastic_depth", "stochastic_block", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++) {
        const float survive = (float)(1.0 - rate_of(d, k, v.count, rate)); /* as "survive" is */
        status = stochastic_depth_write(v.s, v.list[k], "keep",
                                        tutti_stream_uniform(&r) < (double)survive, err);
    }
    free(v.list);
    return status;
}

static tutti_status stochastic_depth_apply(void *self, const tutti_event *event,
                                           int64_t *ret_exit_code, tutti_error *err)
{
    const depth *d = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_INIT)
        return wrap_all(d, err);
    return event->id == TUTTI_EVENT_BATCH_START ? set_rates(d, err)
                                                : stochastic_depth_draw(d, event, err);
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = stochastic_depth_open,
                                  .match = stochastic_depth_match,
                                  .apply = stochastic_depth_apply,
                                  .close = surgery_close};
static const tutti_object object = TUTTI_OBJECT_INIT_CHECKED(
    "stochastic_depth", TUTTI_KIND_ALGORITHM, &calls, stochastic_depth_check);
static const tutti_object *const objects[] = {&object, &stochastic_block_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.stochastic_depth", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
