/* plugin.c - look: an algorithm without kernels, which halves the first weight's gradient and its optimizer's slot. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot */
#include "tutti/tutti.h"
#include "tutti/weights.h"

static tutti_status look_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    const void *weights = host->query(host->ctx, TUTTI_WEIGHTS_V1);
    if (!weights)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "look: this host has no weights");
    *ret_self = (void *)(uintptr_t)weights; /* nothing else to remember */
    return TUTTI_OK;
}

static tutti_status look_close(void *self, tutti_error *err)
{
    return TUTTI_OK;
}

static int32_t look_match(void *self, const tutti_event *event)
{
    return 1;
}

static tutti_status look_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                               tutti_error *err)
{
    const tutti_weights_v1 *weights = self;
    tutti_weight w = {.struct_size = sizeof w};
    tutti_slot slot = {.struct_size = sizeof slot};
    tutti_status s = weights->at(weights->ctx, 0, &w, err);
    if (s || (s = weights->slot(weights->ctx, 0, 0, &slot, err)))
        return s;
    float *g = w.grad, *state = slot.data.data;
    for (int64_t k = 0; k < tutti_numel(&w.data.desc); k++) {
        g[k] *= 0.5f;
        state[k] *= 0.5f;
    }
    return s;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = look_open,
                                  .match = look_match,
                                  .apply = look_apply,
                                  .close = look_close};
static const tutti_object object = TUTTI_OBJECT_INIT("look", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.test.look", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    return &plugin;
}
