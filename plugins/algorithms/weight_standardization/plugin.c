/* plugin.c - weight_standardization: convolutions work with filters of mean 0 and variance 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

typedef struct standardization {
    const tutti_host *host;
    int64_t ignore; /* last convolutions that stay */
} standardization;

static tutti_status weight_standardization_open(const tutti_host *host,
                                                const tutti_params *params, void **ret_self,
                                                tutti_error *err)
{
    standardization *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "weight_standardization: no memory");
    a->host = host;
    a->ignore = tutti_param_i64(params, "n_last_layers_ignore");
    *ret_self = a;
    return TUTTI_OK;
}

/* 1 when the weight of `m` is read standardized from now on, 0 when it is already, a negative status
 * on error. */
static int32_t weight_standardization_standardize(const tutti_module_v1 *s, tutti_module m,
                                                  tutti_error *err)
{
    tutti_module by = s->parametrization(s->ctx, m, "weight", 0);
    for (uint32_t k = 1; by; by = s->parametrization(s->ctx, m, "weight", k++))
        if (strcmp(s->kind(s->ctx, by), "standardized_filters") == 0)
            return 0;
    tutti_status status = s->create(s->ctx, "standardized_filters", NULL, 0, &by, err);
    if (!status)
        status = s->parametrize(s->ctx, m, "weight", by, err);
    return status ? status : 1;
}

static tutti_status weight_standardization_apply(void *self, const tutti_event *event,
                                                 int64_t *ret_exit_code, tutti_error *err)
{
    const standardization *a = self;
    surgery v = {NULL, NULL, 0, 0};
    uint32_t done = 0;
    (void)event, (void)ret_exit_code;
    int32_t one = surgery_find(a->host, "weight_standardization", "conv2d", NULL, &v, err);
    if (one == TUTTI_OK && !TUTTI_HAS(v.s, tutti_module_v1, parametrization))
        one = tutti_fail(err, TUTTI_E_UNSUPPORTED,
                         "weight_standardization: this host's weights have no "
                         "parametrizations");
    for (uint32_t k = 0; one >= 0 && (int64_t)k < (int64_t)v.count - a->ignore; k++) {
        one = weight_standardization_standardize(v.s, v.list[k], err);
        done += one > 0;
    }
    free(v.list);
    if (one < 0)
        return one;
    surgery_report(a->host, "WeightStandardization/num_weights_standardized", done,
                   "weight_standardization has no effect: there is no convolution that it "
                   "changes");
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = weight_standardization_open,
                                  .match = surgery_match,
                                  .apply = weight_standardization_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("weight_standardization", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &standardized_filters_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.weight_standardization", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
