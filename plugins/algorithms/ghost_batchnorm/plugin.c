/* plugin.c - ghost_batchnorm: batch norm takes its statistics from parts of the batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

typedef struct ghosts {
    const tutti_host *host;
    int64_t size;
} ghosts;

static tutti_status ghost_batchnorm_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    ghosts *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "ghost_batchnorm: no memory");
    a->host = host;
    a->size = tutti_param_i64(params, "ghost_batch_size");
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status ghost_batchnorm_apply(void *self, const tutti_event *event,
                                          int64_t *ret_exit_code, tutti_error *err)
{
    const ghosts *a = self;
    const tutti_attr size = tutti_attr_i("ghost_batch_size", a->size);
    surgery v = {NULL, NULL, 0, 0};
    (void)event, (void)ret_exit_code;
    tutti_status status =
        surgery_find(a->host, "ghost_batchnorm", "batch_norm2d", "ghost_batch_norm2d", &v, err);
    if (status)
        return status;
    for (uint32_t k = 0; status == TUTTI_OK && k < v.count; k++)
        status = surgery_wrap(v.s, v.list[k], "ghost_batch_norm2d", &size, 1, "norm", err);
    free(v.list);
    if (status == TUTTI_OK)
        surgery_report(a->host, "GhostBatchNorm/num_new_modules", v.count,
                       "ghost_batchnorm has no effect: the model has no batch norm that it "
                       "changes");
    return status;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = ghost_batchnorm_open,
                                  .match = surgery_match,
                                  .apply = ghost_batchnorm_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("ghost_batchnorm", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &ghost_batch_norm2d_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.ghost_batchnorm", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
