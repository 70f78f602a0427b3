/* plugin.c - inverse_root: the learning rate falls with the root of the batches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/scheduler.h"
#include "tutti/tutti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct falling {
    double batches; /* after which the factor is 1 / sqrt(2) */
} falling;

/* Pure: the same moment gives the same factor, on any thread. */
static tutti_status inverse_root_multiplier(void *self, const tutti_schedule *s,
                                            double *ret_multiplier, tutti_error *err)
{
    const falling *f = self;
    (void)err;
    *ret_multiplier = 1.0 / sqrt(1.0 + (double)s->now->batch / (f->batches * s->scale_ratio));
    return TUTTI_OK;
}

static tutti_status inverse_root_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    (void)host;
    falling *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "inverse_root: no memory");
    f->batches = (double)tutti_param_i64(params, "batches");
    *ret_self = f;
    return TUTTI_OK;
}

static tutti_status inverse_root_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *inverse_root_query(void *self, const char *interface_id)
{
    static const tutti_scheduler_v1 table = {.struct_size = sizeof table,
                                             .multiplier = inverse_root_multiplier};
    (void)self;
    return strcmp(interface_id, TUTTI_SCHEDULER_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = inverse_root_open,
                                  .close = inverse_root_close,
                                  .query = inverse_root_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("inverse_root", TUTTI_KIND_SCHEDULER, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.inverse_root", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
