/* plugin.c - backwards: the algorithms of an event in the reverse of their order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/pass.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

/* The result depends on the arguments alone: the host keeps it. */
static tutti_status backwards_order(void *self, int32_t event, const char *const *names,
                                    uint32_t n, uint32_t *ret_order, uint32_t *ret_count,
                                    tutti_error *err)
{
    (void)self;
    (void)event;
    (void)names;
    (void)err;
    for (uint32_t k = 0; k < n; k++)
        ret_order[k] = n - 1 - k;
    *ret_count = n;
    return TUTTI_OK;
}

static tutti_status backwards_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    (void)host;
    (void)params;
    char *self = malloc(1); /* nothing is remembered, but each instance is another */
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "backwards: no memory");
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status backwards_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *backwards_query(void *self, const char *interface_id)
{
    static const tutti_pass_v1 table = {.struct_size = sizeof table, .order = backwards_order};
    (void)self;
    return strcmp(interface_id, TUTTI_PASS_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = backwards_open,
                                  .close = backwards_close,
                                  .query = backwards_query};
static const tutti_object object = TUTTI_OBJECT_INIT("backwards", TUTTI_KIND_PASS, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.example.backwards", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
