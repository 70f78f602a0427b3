/* plugin.c - weight_standardization: convolutions work with filters of mean 0 and variance 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

typedef struct standardization {
    const tutti_host *host;
    int64_t ignore; /* last convolutions that stay */
} standardization;

static tutti_status standardization_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    standardization *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "weight_standardization: no memory");
    a->host = host;
    a->ignore = tutti_param_i64(params, "n_last_layers_ignore");
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status standardization_apply(void *self, const tutti_event *event,
                                          int64_t *ret_exit_code, tutti_error *err)
{
    const standardization *a = self;
    surgery v = {NULL, NULL, 0, 0};
    uint32_t done = 0;
    (void)event, (void)ret_exit_code;
    tutti_status status = surgery_find(a->host, "weight_standardization", "conv2d",
                                       "standardized_conv2d", &v, err);
    if (status)
        return status;
    for (; status == TUTTI_OK && (int64_t)done < (int64_t)v.count - a->ignore; done++)
        status = surgery_wrap(v.s, v.list[done], "standardized_conv2d", NULL, 0, "conv", err);
    free(v.list);
    if (status == TUTTI_OK)
        surgery_report(a->host, "WeightStandardization/num_weights_standardized", done,
                       "weight_standardization has no effect: there is no convolution that it "
                       "changes");
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = standardization_open,
                                  .match = surgery_match,
                                  .apply = standardization_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("weight_standardization", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &standardized_conv2d_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.weight_standardization", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
