/* backend.c - opening the object behind a device, then the device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/backend.h"

#include <stdbool.h>
#include <string.h>

/* [step] calls of a plugin's device are not in the crash report's breadcrumb: they are too many. */
tutti_status backend_open(const object *o, const char *name, tutti_params **params,
                          uint32_t index, service_fn services, void *ctx, backend *ret_backend,
                          tutti_error *err)
{
    backend b = {.instance = NULL};
    if (!o) {
        const bool cuda = strcmp(name, "cuda") == 0;
        const tutti_status s =
            tutti_device_open(cuda ? tutti_device_cuda() : tutti_device_cpu(),
                              cuda ? ctx : NULL, index, &b.device, err);
        if (!s)
            *ret_backend = b;
        return s;
    }
    tutti_status s = instance_open(o, name, *params, services, ctx, &b.instance, err);
    if (s)
        return s;
    *params = NULL; /* the instance has them */
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_device_v1 *table = instance_query(b.instance, TUTTI_DEVICE_V1);
    if (table)
        s = tutti_device_open(table, instance_self(b.instance), index, &b.device, &why);
    else
        s = tutti_fail(&why, TUTTI_E_UNSUPPORTED, "has no " TUTTI_DEVICE_V1);
    if (s) {
        instance_free(b.instance);
        return tutti_fail(err, s, "device %s: %s", name, why.text);
    }
    *ret_backend = b;
    return TUTTI_OK;
}

void backend_close(backend *b)
{
    tutti_device_close(&b->device);
    instance_free(b->instance);
    memset(b, 0, sizeof *b);
}
