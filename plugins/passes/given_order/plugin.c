/* plugin.c - given_order: a pass that orders algorithms as the run file says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/events.h"
#include "tutti/pass.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct given_order {
    const tutti_param *names; /* borrowed until close */
    uint64_t on;              /* bit k: event k of the training events */
    int32_t everywhere;
    int32_t drop_others;
} given_order;

static int32_t find_event(const char *name)
{
    static const char *const names[] = {
#define TUTTI_X(name, value, canonical, side) value,
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    for (int32_t k = 0; k < (int32_t)(sizeof names / sizeof *names); k++)
        if (strcmp(names[k], name) == 0)
            return k;
    return -1;
}

static tutti_status given_order_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const tutti_param *events = tutti_param_find(params, "events");
    given_order o = {.names = tutti_param_find(params, "names"),
                     .everywhere = !tutti_param_is_set(params, "events"),
                     .drop_others = (int32_t)tutti_param_i64(params, "drop_others")};
    (void)host;
    for (uint64_t k = 0; !o.everywhere && k < events->count; k++) {
        const int32_t event = find_event(events->items[k]->s);
        if (event < 0)
            return tutti_fail(err, TUTTI_E_ARG,
                              "given_order: %s is no event of training, want names such as "
                              "before_loss",
                              events->items[k]->s);
        o.on |= UINT64_C(1) << event;
    }
    given_order *self = malloc(sizeof *self);
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "given_order: no memory");
    *self = o;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status given_order_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status given_order_names(void *self, int32_t event, const char *const *names,
                                      uint32_t n, uint32_t *order, uint32_t *ret_count,
                                      tutti_error *err)
{
    const given_order *o = self;
    uint64_t used = 0;
    uint32_t count = 0;
    const int here = o->everywhere || (event < MOST && (o->on >> event & 1));
    if (n > MOST)
        return tutti_fail(err, TUTTI_E_RANGE, "given_order: %u algorithms, want at most %d", n,
                          MOST);
    for (uint64_t j = 0; here && j < o->names->count; j++)
        for (uint32_t k = 0; k < n; k++)
            if (!(used >> k & 1) && strcmp(names[k], o->names->items[j]->s) == 0) {
                used |= UINT64_C(1) << k;
                order[count++] = k;
            }
    for (uint32_t k = 0; k < n && !(here && o->drop_others); k++)
        if (!(used >> k & 1))
            order[count++] = k;
    *ret_count = count;
    return TUTTI_OK;
}

static const void *given_order_query(void *self, const char *interface_id)
{
    static const tutti_pass_v1 pass = {.struct_size = sizeof pass, .order = given_order_names};
    (void)self;
    return strcmp(interface_id, TUTTI_PASS_V1) == 0 ? &pass : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = given_order_open,
                                  .close = given_order_close,
                                  .query = given_order_query};
static const tutti_object object = TUTTI_OBJECT_INIT("given_order", TUTTI_KIND_PASS, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.given_order", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
