/* plugin.c - low_precision_layernorm: layer norms read and give 16 bits where products do. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

typedef struct low_norms {
    const tutti_host *host;
    const tutti_state_v1 *state;
    int32_t event; /* where it is applied */
    int32_t reserved;
} low_norms;

static tutti_status norms_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state =
        algorithm_service(host, "low_precision_layernorm", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    low_norms *a = malloc(sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "low_precision_layernorm: no memory");
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

/* Its weights are the layer norm's own. */
static tutti_status rebuild_one(const tutti_module_v1 *s, tutti_module m, tutti_error *err)
{
    tutti_attr attr[2];
    const uint32_t nattr = surgery_settings(s->params(s->ctx, m), attr, 2);
    return surgery_rebuild(s, m, "low_precision_layer_norm", attr, nattr, err);
}

static tutti_status norms_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                tutti_error *err)
{
    const low_norms *a = self;
    const tutti_log_v1 *log = a->host->query(a->host->ctx, TUTTI_LOG_V1);
    surgery v = {NULL, NULL, 0, 0};
    (void)event, (void)ret_exit_code;
    if (low_precision_dtype(a->state) == TUTTI_F32) {
        if (log)
            log->write(log->ctx, TUTTI_LOG_WARNING,
                       "low_precision_layernorm has no effect: precision is neither amp_bf16 "
                       "nor amp_fp16");
        return TUTTI_OK;
    }
    tutti_status status =
        surgery_find(a->host, "low_precision_layernorm", "layer_norm", NULL, &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = rebuild_one(v.s, v.list[k], err);
    free(v.list);
    if (status == TUTTI_OK)
        surgery_report(a->host, "LowPrecisionLayerNorm/num_new_modules", v.count,
                       "low_precision_layernorm has no effect: the model has no layer norm");
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = norms_open,
                                  .match = norms_match,
                                  .apply = norms_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("low_precision_layernorm", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &low_precision_layer_norm_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.low_precision_layernorm", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
