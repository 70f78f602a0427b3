/* plugin.c - sign_descent: each weight takes a step of the learning rate against the sign of its gradient. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/optimizer.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct descent {
    tutti_optimizer_v1 table; /* of this instance, because its learning rate is */
} descent;

/* Stretches of weights come from several threads at once: nothing else is written. */
static void sign_descent_update(void *self, const tutti_update *u)
{
    const float lr = (float)u->lr;
    (void)self;
    for (int64_t k = 0; k < u->n; k++)
        u->w[k] -= u->g[k] > 0 ? lr : u->g[k] < 0 ? -lr : 0;
}

static tutti_status sign_descent_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    static const char *const no_slots[] = {NULL};
    (void)host;
    descent *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "sign_descent: no memory");
    d->table = (tutti_optimizer_v1){.struct_size = sizeof d->table,
                                    .slot_names = no_slots,
                                    .lr = tutti_param_f64(params, "lr"),
                                    .update = sign_descent_update};
    *ret_self = d;
    return TUTTI_OK;
}

static tutti_status sign_descent_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *sign_descent_query(void *self, const char *interface_id)
{
    const descent *d = self;
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &d->table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = sign_descent_open,
                                  .close = sign_descent_close,
                                  .query = sign_descent_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("sign_descent", TUTTI_KIND_OPTIMIZER, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.sign_descent", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
