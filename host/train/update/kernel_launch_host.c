/* kernel_launch_host.c - plugins' kernels as code of the host, on a device that runs such code in its own order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/kernel_launch.h"

#include <stdlib.h>
#include <string.h>

typedef struct deferred {
    tutti_op_call call;
    const instance *instance;
    uint32_t number;
    uint32_t nargs;
    void *args[KERNEL_MAX_ARGS];
    uint64_t values[KERNEL_MAX_ARGS];
} deferred;

static tutti_status run_deferred(void *state, const tutti_op_call *c, const void *const *in,
                                 void *const *out, void *scratch)
{
    deferred *d = state;
    instance_run_kernel(d->instance, d->number, d->args);
    free(d);
    return TUTTI_OK;
}

static tutti_status launch(instance_kernels *p, uint32_t number, const kernel_info *k,
                           void *const *args, tutti_error *err)
{
    const tutti_device *device = context_device(p->all->run);
    deferred *d = calloc(1, sizeof *d);
    if (!d || k->nargs > KERNEL_MAX_ARGS) {
        free(d);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a call of kernel %s", k->name);
    }
    *d = (deferred){.call = {.struct_size = sizeof d->call, .threads = 1},
                    .instance = p->instance,
                    .number = number,
                    .nargs = k->nargs};
    d->call.step = &p->all->run->step;
    for (uint32_t a = 0; a < k->nargs; a++) {
        memcpy(&d->values[a], args[a], kernel_arg_size(k->arg_types[a]));
        d->args[a] = &d->values[a];
    }
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = k->name,
                            .run = run_deferred,
                            .state = d,
                            .call = &d->call};
    const tutti_status s = device->table->launch(device->device, NULL, &l, err);
    if (s)
        free(d);
    return s;
}

static tutti_status find(instance_kernels *p, uint32_t number, const kernel_info *k,
                         tutti_error *err)
{
    const tutti_device *d = context_device(p->all->run);
    return strcmp(d->info.kernels, "cpu") == 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_UNSUPPORTED, "device %s cannot run kernel %s of %s",
                            d->info.name, k->name, k->plugin_id);
}

const kernel_launcher kernel_launch_host = {.find = find, .launch = launch};
