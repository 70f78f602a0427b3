/* backend.h - a device that a run names: the CPU, or one of a plugin's backend. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_BACKEND_H
#define HOST_DEVICE_BACKEND_H

#include "plugin/instance.h"
#include "tutti_host/device.h"

typedef struct backend {
    tutti_device device;
    instance *instance; /* NULL: the host's own */
} backend;

/* Opens device `index` of object `o` (kind "device"), or of the host's own where `o` is
 * NULL: "cuda", or the CPU by any other name.  Takes *params and
 * sets it to NULL once the object is open; `services` and `ctx` as instance_open's, but for "cuda" `ctx`
 * is its tutti_cuda_settings or NULL.  [control] */
TUTTI_NODISCARD tutti_status backend_open(const object *o, const char *name,
                                          tutti_params **params, uint32_t index,
                                          service_fn services, void *ctx, backend *ret_backend,
                                          tutti_error *err);
void backend_close(backend *b); /* [control]; zero is allowed */

#endif
