/* plugin.c - batch_count: counts batches, remembers the number in checkpoints, logs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/logger.h"
#include "tutti/metrics.h"
#include "tutti/stateful.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct counter {
    const tutti_metrics_v1 *metrics;
    int64_t every, count;
} counter;

static tutti_status batch_count_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const tutti_metrics_v1 *metrics = host->query(host->ctx, TUTTI_METRICS_V1);
    if (!metrics)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "batch_count: this host has no %s",
                          TUTTI_METRICS_V1);
    counter *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "batch_count: no memory");
    c->metrics = metrics;
    c->every = tutti_param_i64(params, "every");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status batch_count_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* Hears the events of the manifest. */
static tutti_status batch_count_run_event(void *self, const tutti_event *event,
                                          tutti_error *err)
{
    counter *c = self;
    (void)event;
    (void)err;
    c->count++;
    if (c->count % c->every == 0) {
        const tutti_named_value value = {"batch_count/batches", (double)c->count};
        c->metrics->log(c->metrics->ctx, &value, 1);
    }
    return TUTTI_OK;
}

/* What a checkpoint keeps: a resumed run goes on counting. */
static tutti_status batch_count_items(void *self, tutti_state_item *list, uint32_t room,
                                      uint32_t *ret_count, tutti_error *err)
{
    counter *c = self;
    (void)err;
    *ret_count = 1;
    if (room > 0) {
        memset(list, 0, sizeof *list);
        memcpy(list->name, "count", sizeof "count");
        list->tensor.data = &c->count;
        list->tensor.desc.dtype = TUTTI_I64;
        list->tensor.device = TUTTI_DEVICE_CPU;
    }
    return TUTTI_OK;
}

static const void *batch_count_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = batch_count_items};
    (void)self;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = batch_count_open,
                                  .run_event = batch_count_run_event,
                                  .close = batch_count_close,
                                  .query = batch_count_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("batch_count", TUTTI_KIND_CALLBACK, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.batch_count", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
