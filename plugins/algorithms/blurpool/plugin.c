/* plugin.c - blurpool: replaces strided convolutions and max pooling by layers that blur. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "blurpool.h"

#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/module.h"

typedef struct blurpool {
    const tutti_host *host;
    int64_t min_channels;
    int32_t replace_convs;
    int32_t replace_maxpools;
    int32_t blur_first;
    int32_t reserved;
} blurpool;

static tutti_status blurpool_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const int32_t convs = tutti_param_i64(params, "replace_convs") != 0;
    const int32_t pools = tutti_param_i64(params, "replace_maxpools") != 0;
    if (!convs && !pools)
        return tutti_fail(err, TUTTI_E_ARG,
                          "blurpool: replace_convs and replace_maxpools are both false, want "
                          "one of them true");
    blurpool *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "blurpool: no memory");
    b->host = host;
    b->min_channels = tutti_param_i64(params, "min_channels");
    b->replace_convs = convs;
    b->replace_maxpools = pools;
    b->blur_first = tutti_param_i64(params, "blur_first") != 0;
    *ret_self = b;
    return TUTTI_OK;
}

static tutti_status blurpool_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t blurpool_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_INIT;
}

/* 1 when `m` was replaced, 0 when it stays, a negative status on error. */
static int32_t replace_conv(const blurpool *b, const tutti_module_v1 *s, tutti_module m,
                            tutti_error *err)
{
    static const char *const same[] = {"in_channels", "out_channels", "kernel_size", "stride",
                                       "padding",     "dilation",     "groups",      "bias"};
    enum { SAME = sizeof same / sizeof *same };
    const tutti_params *p = s->params(s->ctx, m);
    if (tutti_param_i64(p, "stride") <= 1 ||
        tutti_param_i64(p, "in_channels") < b->min_channels)
        return 0;
    tutti_attr attr[SAME + 1];
    for (int k = 0; k < SAME; k++)
        attr[k] = tutti_attr_i(same[k], tutti_param_i64(p, same[k]));
    attr[SAME] = tutti_attr_i("blur_first", b->blur_first);
    tutti_module next;
    tutti_status status = s->create(s->ctx, "blur_conv2d", attr, SAME + 1, &next, err);
    if (status || (status = s->take_weight(s->ctx, next, "weight", m, "weight", err)) ||
        (tutti_param_i64(p, "bias") &&
         (status = s->take_weight(s->ctx, next, "bias", m, "bias", err))) ||
        (status = s->replace(s->ctx, m, next, err)))
        return status;
    return 1;
}

static int32_t replace_pool(const tutti_module_v1 *s, tutti_module m, tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const tutti_attr attr[3] = {tutti_attr_i("kernel_size", tutti_param_i64(p, "kernel_size")),
                                tutti_attr_i("padding", tutti_param_i64(p, "padding")),
                                tutti_attr_i("stride", tutti_param_i64(p, "stride"))};
    const uint32_t nattr = tutti_param_is_set(p, "stride") ? 3 : 2;
    tutti_module next;
    tutti_status status = s->create(s->ctx, "blur_max_pool2d", attr, nattr, &next, err);
    if (status || (status = s->replace(s->ctx, m, next, err)))
        return status;
    return 1;
}

static tutti_status replace_all(const blurpool *b, const tutti_module_v1 *s,
                                const tutti_module *list, uint32_t n, uint32_t *convs,
                                uint32_t *pools, tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++) {
        const char *kind = s->kind(s->ctx, list[k]);
        if (b->replace_convs && strcmp(kind, "conv2d") == 0) {
            const int32_t done = replace_conv(b, s, list[k], err);
            if (done < 0)
                return done;
            *convs += (uint32_t)done;
        } else if (b->replace_maxpools && strcmp(kind, "max_pool2d") == 0) {
            const int32_t done = replace_pool(s, list[k], err);
            if (done < 0)
                return done;
            *pools += (uint32_t)done;
        }
    }
    return TUTTI_OK;
}

static void report(const blurpool *b, uint32_t convs, uint32_t pools)
{
    const tutti_metrics_v1 *metrics = b->host->query(b->host->ctx, TUTTI_METRICS_V1);
    const tutti_log_v1 *log = b->host->query(b->host->ctx, TUTTI_LOG_V1);
    char text[120];
    if (metrics) {
        (void)snprintf(text, sizeof text, "%u", pools);
        metrics->hyperparameter(metrics->ctx, "blurpool/num_blurpool_layers", text);
        (void)snprintf(text, sizeof text, "%u", convs);
        metrics->hyperparameter(metrics->ctx, "blurpool/num_blurconv_layers", text);
    }
    if (!log)
        return;
    (void)snprintf(text, sizeof text, "blurpool replaced %u convolutions and %u max poolings",
                   convs, pools);
    if (convs + pools)
        log->write(log->ctx, TUTTI_LOG_INFO, text);
    else
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "blurpool has no effect: the model has no layer that it replaces");
}

static tutti_status blurpool_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                                   tutti_error *err)
{
    const blurpool *b = self;
    (void)event, (void)ret_exit_code;
    const tutti_module_v1 *s = algorithm_service(b->host, "blurpool", TUTTI_MODULE_V1, err);
    if (!s)
        return TUTTI_E_UNSUPPORTED;
    const tutti_module root = s->root(s->ctx);
    uint32_t n = 0, filled = 0, convs = 0, pools = 0;
    for (tutti_module m = s->next(s->ctx, root); m; m = s->next(s->ctx, m))
        n++;
    tutti_module *list = calloc(n + 1, sizeof *list); /* the walk ends where surgery begins */
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "blurpool: no memory for %u modules", n);
    for (tutti_module m = s->next(s->ctx, root); m && filled < n; m = s->next(s->ctx, m))
        list[filled++] = m;
    const tutti_status status = replace_all(b, s, list, filled, &convs, &pools, err);
    free(list);
    if (status == TUTTI_OK)
        report(b, convs, pools);
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = blurpool_open,
                                  .match = blurpool_match,
                                  .apply = blurpool_apply,
                                  .close = blurpool_close};
static const tutti_object object = TUTTI_OBJECT_INIT("blurpool", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &blur_conv2d_object,
                                              &blur_max_pool2d_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.blurpool", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
