/* open.c - opening a device of a backend, with what it says of itself checked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_host/device.h"

#include <stdbool.h>
#include <string.h>

static bool is_whole(const tutti_device_v1 *t)
{
    return TUTTI_HAS(t, tutti_device_v1, step) && t->count && t->describe && t->open &&
           t->close && t->memory && t->alloc && t->release && t->copy && t->fill && t->random &&
           t->stream_create && t->stream_destroy && t->event_create && t->event_destroy &&
           t->event_record && t->event_wait && t->event_done && t->synchronise && t->launch;
}

static tutti_status check_info(const tutti_device_v1 *t, const tutti_device_info *i,
                               tutti_error *err)
{
    if (!memchr(i->name, 0, sizeof i->name) || !memchr(i->kernels, 0, sizeof i->kernels) ||
        !*i->name)
        return tutti_fail(err, TUTTI_E_ARG, "a device has no proper name");
    if (i->alignment < 64 || i->alignment & (i->alignment - 1))
        return tutti_fail(err, TUTTI_E_ARG,
                          "device %s: alignment is %u, want a power of two from 64 up", i->name,
                          i->alignment);
    if (i->flags & TUTTI_DEVICE_STEPS && (!t->step || !(i->flags & TUTTI_DEVICE_ASYNC)))
        return tutti_fail(err, TUTTI_E_ARG, "device %s gathers work, but %s", i->name,
                          t->step ? "is not asynchronous" : "has no step");
    if (!*i->kernels && !t->kernel)
        return tutti_fail(err, TUTTI_E_ARG, "device %s has no kernels at all", i->name);
    return TUTTI_OK;
}

tutti_status tutti_device_open(const tutti_device_v1 *table, void *self, uint32_t index,
                               tutti_device *ret_device, tutti_error *err)
{
    tutti_device d = {.table = table, .info = {.struct_size = sizeof d.info}};
    if (!is_whole(table))
        return tutti_fail(err, TUTTI_E_VERSION, "the table of " TUTTI_DEVICE_V1 " lacks calls");
    const uint32_t count = table->count(self);
    tutti_status s = count ? TUTTI_OK : table->describe(self, index, &d.info, err);
    if (s) /* says why there is none */
        return s;
    if (index >= count)
        return tutti_fail(err, TUTTI_E_RANGE, "there is no device %u, this machine has %u",
                          index, count);
    if ((s = table->describe(self, index, &d.info, err)) ||
        (s = check_info(table, &d.info, err)) || (s = table->open(self, index, &d.device, err)))
        return s;
    d.number = tutti_device_is_host(&d) ? TUTTI_DEVICE_CPU : (int32_t)index;
    *ret_device = d;
    return TUTTI_OK;
}

void tutti_device_close(tutti_device *d)
{
    if (d->table)
        d->table->close(d->device);
    d->table = NULL;
}
