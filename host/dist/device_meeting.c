/* device_meeting.c - waiting for sums on devices: processes meet beside it, so that no device waits for a rank that is gone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A device would wait for a rank that has ended or hangs without an end.  The processes know: each tells the others beside
 * whatever it does that it has come to a place, and later that its device has done its part.  Who waits for its device
 * looks at the first meeting as well; nobody waits for the second one. */

enum { PAUSE_NS = 50000 };

bool meetings_take(device_meetings *m, size_t size)
{
    bool all = true;
    for (int k = 0; k < MEETINGS && all; k++)
        all = (m->list[k].all = calloc(size, sizeof *m->list[k].all)) != NULL;
    return all;
}

void meetings_fini(device_meetings *m, world *w)
{
    for (int k = 0; k < MEETINGS; k++) {
        if (m->list[k].number)
            world_wait(w, m->list[k].number);
        free(m->list[k].all);
    }
}

static tutti_status read_failures(device_meeting *m, int32_t size, tutti_error *err)
{
    m->read = true;
    for (int32_t r = 0; r < size; r++)
        if (m->all[r])
            return tutti_fail(err, TUTTI_E_STATE, "rank %d could not do its part on its device",
                              r);
    return TUTTI_OK;
}

tutti_status world_device_hear(world_device *d, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (int k = 0; k < MEETINGS && !s && !atomic_load(&d->world->broken); k++) {
        device_meeting *m = &d->meetings.list[k];
        if (m->number && !m->read && world_is_over(d->world, m->number))
            s = read_failures(m, d->world->info.size, err);
    }
    return s;
}

/* `failed`: this rank has. */
static tutti_status start_meeting(world_device *d, bool failed, device_meeting **ret_one,
                                  tutti_error *err)
{
    device_meeting *m = &d->meetings.list[d->meetings.next++ % MEETINGS];
    if (m->number)
        world_wait(d->world, m->number);
    m->mine = failed;
    m->read = false;
    memset(m->all, 0, (size_t)d->world->info.size * sizeof *m->all);
    const tutti_status s =
        world_start_exchange(d->world, &m->mine, m->all, sizeof m->mine, err);
    m->number = s ? 0 : world_started(d->world);
    world_flush(d->world);
    *ret_one = m;
    return s;
}

static tutti_status end_meeting(const world_device *d, device_meeting *m, tutti_error *err)
{
    if (!atomic_load(&d->world->broken))
        return read_failures(m, d->world->info.size, err);
    const tutti_status s = world_finish(d->world, err);
    return s ? s : tutti_fail(err, TUTTI_E_STATE, "what ranks exchange has failed before");
}

tutti_status world_device_meet(world_device *d, bool failed, bool *ret_stopped,
                               tutti_error *err)
{
    device_meeting *m;
    *ret_stopped = false;
    if (!d->table)
        return TUTTI_OK;
    tutti_status s = start_meeting(d, failed, &m, err);
    if (s)
        return s;
    world_wait(d->world, m->number);
    s = end_meeting(d, m, err);
    *ret_stopped = s && !atomic_load(&d->world->broken);
    return s;
}

/* Until the device is done, or all ranks have come and the rest is up to the devices. */
static tutti_status wait_for_others(world_device *d, device_meeting *m, tutti_error *err)
{
    const tutti_device_v1 *t = d->options.table;
    const struct timespec pause = {0, PAUSE_NS};
    tutti_status s = t->event_record(d->options.device, d->done, d->stream, err);
    while (!s && t->event_done(d->options.device, d->done) == 0 &&
           !world_is_over(d->world, m->number))
        (void)nanosleep(&pause, NULL);
    return s || !world_is_over(d->world, m->number) ? s : end_meeting(d, m, err);
}

static tutti_status finish(world_device *d, tutti_error *err)
{
    instance_call c = instance_enter(d->options.comm, "finish");
    tutti_status s = d->table->finish(d->self, err);
    instance_leave(&c);
    /* What the stream adds behind the last operation. */
    const tutti_device_v1 *t = d->options.table;
    if (!s)
        s = t->event_record(d->options.device, d->event, d->stream, err);
    return s ? s : t->event_wait(d->options.device, NULL, d->event, err);
}

/* Behind what this rank has failed with: who does not come. */
static void add_reason(tutti_error *err, const tutti_error *why)
{
    if (!err)
        return;
    const size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, "; %s", why->text);
}

/* The others hear how it went on this rank's device, which alone waits for that where it failed. */
static void tell_outcome(world_device *d, tutti_status status, tutti_error *err)
{
    device_meeting *m;
    tutti_error why = TUTTI_ERROR_INIT;
    if (status)
        world_hurry(d->world);
    tutti_status s = start_meeting(d, status != TUTTI_OK, &m, &why);
    if (!s && status)
        s = world_finish(d->world, &why);
    if (s && status)
        add_reason(err, &why);
    if (status)
        world_extend(d->world, 0.0); /* others may compute for longer before they come again */
}

tutti_status world_device_finish(world_device *d, tutti_error *err)
{
    if (!d->table)
        return TUTTI_OK;
    const tutti_status s = finish(d, err);
    tell_outcome(d, s, err);
    return s;
}

tutti_status world_device_settle(world_device *d, tutti_error *err)
{
    device_meeting *m;
    if (!d->table)
        return TUTTI_OK;
    tutti_status s = world_device_hear(d, err);
    if (!s)
        s = start_meeting(d, false, &m, err);
    if (!s)
        s = wait_for_others(d, m, err);
    return s ? s : world_device_finish(d, err);
}
