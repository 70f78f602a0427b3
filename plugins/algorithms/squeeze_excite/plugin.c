/* plugin.c - squeeze_excite: puts an attention over channels behind convolutions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "squeeze_excite.h"

#include <stdio.h>

typedef struct squeeze_excite {
    const tutti_host *host;
    double latent_channels;
    int64_t min_channels;
} squeeze_excite;

static tutti_status squeeze_excite_open(const tutti_host *host, const tutti_params *params,
                                        void **ret_self, tutti_error *err)
{
    squeeze_excite *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "squeeze_excite: no memory");
    a->host = host;
    a->latent_channels = tutti_param_f64(params, "latent_channels");
    a->min_channels = tutti_param_i64(params, "min_channels");
    *ret_self = a;
    return TUTTI_OK;
}

/* Puts the block around convolution `m` if it is wide enough. */
static tutti_status squeeze_excite_wrap(const squeeze_excite *a, const tutti_module_v1 *s,
                                        tutti_module m, uint32_t *count, tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const int64_t in = tutti_param_i64(p, "in_channels"),
                  c = tutti_param_i64(p, "out_channels");
    if ((in < c ? in : c) < a->min_channels)
        return TUTTI_OK;
    const double n = a->latent_channels;
    const int64_t latent = n >= 1.0 ? (int64_t)n : (int64_t)(n * (double)c);
    if (latent < 1)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "squeeze_excite: latent_channels %g leaves no channel of the %lld of "
                          "%s",
                          n, (long long)c, s->path(s->ctx, m));
    const tutti_attr attr[2] = {tutti_attr_i("channels", c),
                                tutti_attr_i("latent_channels", latent)};
    const tutti_status status =
        surgery_wrap(s, m, "squeeze_excite_conv2d", attr, 2, "conv", err);
    *count += status == TUTTI_OK;
    return status;
}

static void squeeze_excite_report(const squeeze_excite *a, uint32_t count)
{
    const tutti_metrics_v1 *metrics = a->host->query(a->host->ctx, TUTTI_METRICS_V1);
    const tutti_log_v1 *log = a->host->query(a->host->ctx, TUTTI_LOG_V1);
    char text[80];
    (void)snprintf(text, sizeof text, "%u", count);
    if (metrics)
        metrics->hyperparameter(metrics->ctx, "squeeze_excite/num_squeeze_excite_layers", text);
    (void)snprintf(text, sizeof text, "squeeze_excite put a block behind %u convolutions",
                   count);
    if (log && count)
        log->write(log->ctx, TUTTI_LOG_INFO, text);
    else if (log)
        log->write(log->ctx, TUTTI_LOG_WARNING,
                   "squeeze_excite has no effect: no convolution has min_channels channels");
}

static tutti_status squeeze_excite_apply(void *self, const tutti_event *event,
                                         int64_t *ret_exit_code, tutti_error *err)
{
    const squeeze_excite *a = self;
    (void)event, (void)ret_exit_code;
    surgery v = {NULL, NULL, 0, 0};
    uint32_t count = 0;
    tutti_status status =
        surgery_find(a->host, "squeeze_excite", "conv2d", "squeeze_excite_conv2d", &v, err);
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = squeeze_excite_wrap(a, v.s, v.list[k], &count, err);
    free(v.list);
    if (status == TUTTI_OK)
        squeeze_excite_report(a, count);
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = squeeze_excite_open,
                                  .match = surgery_match,
                                  .apply = squeeze_excite_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("squeeze_excite", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &squeeze_excite_conv2d_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.squeeze_excite", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
