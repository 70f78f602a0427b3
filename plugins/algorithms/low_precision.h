/* low_precision.h - norms that read and give 16 bits: the algorithm that makes them and the layer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_LOW_PRECISION_H
#define PLUGIN_LOW_PRECISION_H

/* A plugin defines these, includes this and has nothing else:
 *   LOW_WHO       the algorithm, "low_precision_layernorm"
 *   LOW_CLASS     upstream's name of it, "LowPrecisionLayerNorm"
 *   LOW_OP        the layer's kind, which is also the operation's name, "layer_norm"
 *   LOW_LAYER     the layer that it becomes, low_precision_layer_norm
 *   LOW_NOUN      "layer norm"
 *   LOW_CHANNELS  the layer's setting with the size of the last axis, "num_features"
 *   LOW_GROUPS    the one with the number of groups, which the operation has too; NULL: none */

#include "surgery.h"

#include "tutti/layer.h"
#include "tutti/state.h"

#define LOW_TEXT_(x) #x
#define LOW_TEXT(x) LOW_TEXT_(x)

/* What the run's precision rounds to; TUTTI_F32: it does not. */
static int32_t low_dtype(const tutti_state_v1 *state)
{
    const char *name =
        TUTTI_HAS(state, tutti_state_v1, precision) ? state->precision(state->ctx) : "fp32";
    return strcmp(name, "amp_bf16") == 0   ? TUTTI_BF16
           : strcmp(name, "amp_fp16") == 0 ? TUTTI_F16
                                           : TUTTI_F32;
}

/* ---- the layer ---- */

typedef struct low_norm {
    const tutti_module_v1 *modules;
    const tutti_state_v1 *state;
    int64_t channels;
    int64_t groups; /* 0: the operation has none */
    double eps;
} low_norm;

static tutti_status layer_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    static const char *const groups = LOW_GROUPS;
    const char *who = LOW_TEXT(LOW_LAYER);
    const tutti_module_v1 *modules = algorithm_service(host, who, TUTTI_MODULE_V1, err);
    const tutti_state_v1 *state =
        modules ? algorithm_service(host, who, TUTTI_STATE_V1, err) : NULL;
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    low_norm *l = malloc(sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", who);
    *l = (low_norm){modules, state, tutti_param_i64(params, LOW_CHANNELS),
                    groups ? tutti_param_i64(params, groups) : 0,
                    tutti_param_f64(params, "eps")};
    *ret_self = l;
    return TUTTI_OK;
}

/* As the norm has them: ones and zeros, without decay. */
static tutti_status layer_build(void *self, tutti_module m, tutti_error *err)
{
    const low_norm *l = self;
    const tutti_module_v1 *s = l->modules;
    const uint32_t flags = TUTTI_WEIGHT_TRAINABLE | TUTTI_WEIGHT_NO_DECAY;
    const tutti_desc row = {{l->channels}, 1, TUTTI_F32};
    const tutti_init one = {.kind = TUTTI_INIT_CONSTANT, .a = 1.0};
    const tutti_init zero = {.kind = TUTTI_INIT_CONSTANT};
    const tutti_status status = s->weight(s->ctx, m, "weight", &row, &one, flags, err);
    return status ? status : s->weight(s->ctx, m, "bias", &row, &zero, flags, err);
}

static tutti_value low_cast(tutti_graph *g, tutti_value v, int32_t dtype)
{
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    return g->emit(g, "cast", &v, 1, &to, 1, NULL, 0);
}

/* The input, weight and bias are rounded, and so is the result, which goes on as f32. */
static tutti_status layer_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    const low_norm *l = self;
    const int32_t low = low_dtype(l->state);
    const tutti_attr attr[2] = {tutti_attr_f("eps", l->eps), tutti_attr_i("groups", l->groups)};
    tutti_value all[3] = {in[0], g->weight(g, m, "weight"), g->weight(g, m, "bias")};
    (void)nin, (void)nout;
    for (int k = 0; k < 3 && low != TUTTI_F32; k++)
        all[k] = low_cast(g, all[k], low);
    out[0] = g->emit(g, LOW_OP, all, 3, attr, l->groups ? 2 : 1, NULL, 0);
    if (low != TUTTI_F32)
        out[0] = low_cast(g, low_cast(g, out[0], low), TUTTI_F32);
    return g->status(g);
}

static const void *layer_query(void *self, const char *id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = layer_build, .trace = layer_trace};
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static const tutti_calls layer_calls = {.struct_size = sizeof layer_calls,
                                        .open = layer_open,
                                        .close = surgery_close,
                                        .query = layer_query};
static const tutti_object layer_object =
    TUTTI_OBJECT_INIT(LOW_TEXT(LOW_LAYER), TUTTI_KIND_LAYER, &layer_calls);

/* ---- the algorithm ---- */

typedef struct low_norms {
    const tutti_host *host;
    const tutti_state_v1 *state;
    int32_t event; /* where it is applied */
    int32_t reserved;
} low_norms;

static tutti_status norms_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = algorithm_service(host, LOW_WHO, TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    low_norms *a = malloc(sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, LOW_WHO ": no memory");
    const char *at = tutti_param_str(params, "apply_at");
    *a = (low_norms){host, state,
                     strcmp(at, "before_load") == 0  ? TUTTI_EVENT_BEFORE_LOAD
                     : strcmp(at, "after_load") == 0 ? TUTTI_EVENT_AFTER_LOAD
                                                     : TUTTI_EVENT_INIT,
                     0};
    *ret_self = a;
    return TUTTI_OK;
}

static int32_t norms_match(void *self, const tutti_event *event)
{
    const low_norms *a = self;
    return event->id == a->event;
}

/* Its weights are the norm's own. */
static tutti_status rebuild_one(const tutti_module_v1 *s, tutti_module m, tutti_error *err)
{
    tutti_attr attr[3];
    const uint32_t nattr = surgery_settings(s->params(s->ctx, m), attr, 3);
    return surgery_rebuild(s, m, LOW_TEXT(LOW_LAYER), attr, nattr, err);
}

static tutti_status norms_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                tutti_error *err)
{
    const low_norms *a = self;
    const tutti_log_v1 *log = a->host->query(a->host->ctx, TUTTI_LOG_V1);
    surgery v = {NULL, NULL, 0, 0};
    (void)event, (void)ret_exit_code;
    if (low_dtype(a->state) == TUTTI_F32) {
        if (log)
            log->write(log->ctx, TUTTI_LOG_WARNING,
                       LOW_WHO " has no effect: precision is neither amp_bf16 nor amp_fp16");
        return TUTTI_OK;
    }
    tutti_status status = surgery_find(a->host, LOW_WHO, LOW_OP, NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = rebuild_one(v.s, v.list[k], err);
    free(v.list);
    if (status == TUTTI_OK)
        surgery_report(a->host, LOW_CLASS "/num_new_modules", v.count,
                       LOW_WHO " has no effect: the model has no " LOW_NOUN);
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = norms_open,
                                  .match = norms_match,
                                  .apply = norms_apply,
                                  .close = surgery_close};
static const tutti_object object = TUTTI_OBJECT_INIT(LOW_WHO, TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &layer_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti." LOW_WHO, "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}

#endif
