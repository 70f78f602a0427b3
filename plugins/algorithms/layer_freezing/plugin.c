/* plugin.c - layer_freezing: stops the training of early layers, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"

#include "tutti/metrics.h"
#include "tutti/module.h"
#include "tutti/weights.h"

#include <stdio.h>

typedef struct freezing {
    const tutti_state_v1 *state;
    const tutti_module_v1 *modules;
    const tutti_weights_v1 *weights;
    const tutti_metrics_v1 *metrics;
    double start;
    double level;
} freezing;

static tutti_status layer_freezing_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    const char *who = "layer_freezing";
    const tutti_state_v1 *state = algorithm_service(host, who, TUTTI_STATE_V1, err);
    const tutti_weights_v1 *weights = algorithm_service(host, who, TUTTI_WEIGHTS_V1, err);
    const tutti_metrics_v1 *metrics = algorithm_service(host, who, TUTTI_METRICS_V1, err);
    const tutti_module_v1 *modules = algorithm_service(host, who, TUTTI_MODULE_V1, err);
    if (!state || !weights || !metrics || !modules)
        return TUTTI_E_UNSUPPORTED;
    freezing *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "layer_freezing: no memory");
    *f = (freezing){state,
                    modules,
                    weights,
                    metrics,
                    tutti_param_f64(params, "freeze_start"),
                    tutti_param_f64(params, "freeze_level")};
    *ret_self = f;
    return TUTTI_OK;
}

static tutti_status layer_freezing_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t layer_freezing_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_EPOCH_END;
}

/* Whether a weight's path is that of module `m` and one name more. */
static int32_t is_own(const char *weight, const char *module)
{
    const size_t n = strlen(module);
    return strncmp(weight, module, n) == 0 && weight[n] == '.' && !strchr(weight + n + 1, '.');
}

/* A layer is a module without children that has weights. */
static tutti_status is_layer(const freezing *f, tutti_module m, int32_t *ret, tutti_error *err)
{
    const tutti_weights_v1 *w = f->weights;
    char path[512];
    *ret = 0;
    if (f->modules->child_at(f->modules->ctx, m, 0))
        return TUTTI_OK;
    (void)snprintf(path, sizeof path, "%s", f->modules->path(f->modules->ctx, m));
    for (uint32_t k = 0; k < w->count(w->ctx) && !*ret; k++) {
        tutti_weight one = {.struct_size = sizeof one};
        const tutti_status status = w->describe(w->ctx, k, &one, err);
        if (status)
            return status;
        *ret = is_own(one.path, path);
    }
    return TUTTI_OK;
}

/* Freezes the first `depth` layers in the tree's order; *ret_layers is how many there are. */
static tutti_status layer_freezing_walk(const freezing *f, int64_t depth, int64_t *ret_layers,
                                        tutti_error *err)
{
    const tutti_module_v1 *s = f->modules;
    int64_t layers = 0;
    for (tutti_module m = s->next(s->ctx, s->root(s->ctx)); m; m = s->next(s->ctx, m)) {
        int32_t layer;
        tutti_status status = is_layer(f, m, &layer, err);
        if (status == TUTTI_OK && layer && layers++ < depth)
            status = s->set_trainable(s->ctx, m, 0, err);
        if (status)
            return status;
    }
    *ret_layers = layers;
    return TUTTI_OK;
}

static tutti_status layer_freezing_apply(void *self, const tutti_event *event,
                                         int64_t *ret_exit_code, tutti_error *err)
{
    const freezing *f = self;
    const double elapsed = f->state->elapsed(f->state->ctx);
    double share = 0.0;
    int64_t layers = 0;
    (void)event, (void)ret_exit_code;
    if (elapsed > f->start)
        share = f->level * (elapsed - f->start) / (1.0 - f->start);
    tutti_status status = layer_freezing_walk(f, 0, &layers, err);
    const int64_t depth = layers > 0 ? (int64_t)(share * (double)(layers - 1)) : 0;
    if (status || (depth > 0 && (status = layer_freezing_walk(f, depth, &layers, err))))
        return status;
    const tutti_named_value v[] = {{"layer_freezing/layers_frozen", (double)depth},
                                   {"layer_freezing/percentage_frozen", share}};
    f->metrics->log(f->metrics->ctx, v, 2);
    return TUTTI_OK;
}

ALGORITHM_PLUGIN("layer_freezing", .open = layer_freezing_open, .match = layer_freezing_match,
                 .apply = layer_freezing_apply, .close = layer_freezing_close);
