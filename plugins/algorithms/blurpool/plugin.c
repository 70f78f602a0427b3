/* plugin.c - blurpool: replaces strided convolutions and max pooling by layers that blur. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "blurpool.h"

#include <stdio.h>

typedef struct blurpool {
    const tutti_host *host;
    int64_t min_channels;
    int32_t replace_convs;
    int32_t replace_maxpools;
    int32_t blur_first;
    int32_t reserved;
} blurpool;

static tutti_status blurpool_check(const tutti_params *params, tutti_error *err)
{
    const int32_t convs = tutti_param_i64(params, "replace_convs") != 0;
    const int32_t pools = tutti_param_i64(params, "replace_maxpools") != 0;
    if (!convs && !pools)
        return tutti_fail(err, TUTTI_E_ARG,
                          "blurpool: replace_convs and replace_maxpools are both false, want "
                          "one of them true");
    return TUTTI_OK;
}

static tutti_status blurpool_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    blurpool *b = calloc(1, sizeof *b);
    if (!b)
        return tutti_fail(err, TUTTI_E_NOMEM, "blurpool: no memory");
    b->host = host;
    b->min_channels = tutti_param_i64(params, "min_channels");
    b->replace_convs = tutti_param_i64(params, "replace_convs") != 0;
    b->replace_maxpools = tutti_param_i64(params, "replace_maxpools") != 0;
    b->blur_first = tutti_param_i64(params, "blur_first") != 0;
    *ret_self = b;
    return TUTTI_OK;
}

/* 1 when `m` got a blur around it, 0 when it stays, a negative status on error. */
static int32_t blur_conv(const blurpool *b, const tutti_module_v1 *s, tutti_module m,
                         tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const int64_t stride = tutti_param_i64(p, "stride");
    const tutti_attr every = tutti_attr_i("stride", 1);
    const tutti_attr attr[2] = {tutti_attr_i("first", b->blur_first),
                                tutti_attr_i("stride", b->blur_first ? 1 : stride)};
    if (stride <= 1 || tutti_param_i64(p, "in_channels") < b->min_channels)
        return 0;
    tutti_status status = TUTTI_OK;
    if (!b->blur_first)
        status = surgery_rebuild(s, m, NULL, &every, 1, err);
    if (!status)
        status = surgery_wrap(s, m, "blur_conv2d", attr, 2, "conv", err);
    return status ? status : 1;
}

/* The maximum at every pixel, then the blur with the step. */
static int32_t blur_pool(const tutti_module_v1 *s, tutti_module m, tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const tutti_attr every = tutti_attr_i("stride", 1);
    const tutti_attr attr[2] = {
        tutti_attr_i("first", 0),
        tutti_attr_i(
            "stride",
            tutti_param_i64(p, tutti_param_is_set(p, "stride") ? "stride" : "kernel_size"))};
    tutti_status status = surgery_rebuild(s, m, NULL, &every, 1, err);
    if (!status)
        status = surgery_wrap(s, m, "blur_max_pool2d", attr, 2, "pool", err);
    return status ? status : 1;
}

static tutti_status blur_all(const blurpool *b, int conv, uint32_t *ret_count, tutti_error *err)
{
    surgery v = {NULL, NULL, 0, 0};
    int32_t done = surgery_find(b->host, "blurpool", conv ? "conv2d" : "max_pool2d",
                                conv ? "blur_conv2d" : "blur_max_pool2d", &v, err);
    for (uint32_t k = 0; done >= 0 && k < v.count; k++) {
        done = conv ? blur_conv(b, v.s, v.list[k], err) : blur_pool(v.s, v.list[k], err);
        *ret_count += done > 0;
    }
    free(v.list);
    return done < 0 ? done : TUTTI_OK;
}

static void blurpool_report(const blurpool *b, uint32_t convs, uint32_t pools)
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
    uint32_t convs = 0, pools = 0;
    (void)event, (void)ret_exit_code;
    tutti_status status = b->replace_convs ? blur_all(b, 1, &convs, err) : TUTTI_OK;
    if (!status && b->replace_maxpools)
        status = blur_all(b, 0, &pools, err);
    if (!status)
        blurpool_report(b, convs, pools);
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = blurpool_open,
                                  .match = surgery_match,
                                  .apply = blurpool_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT_CHECKED("blurpool", TUTTI_KIND_ALGORITHM, &calls, blurpool_check);
static const tutti_object *const objects[] = {&object, &blur_conv2d_object,
                                              &blur_max_pool2d_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.blurpool", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
