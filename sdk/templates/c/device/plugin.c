/* plugin.c - plain_memory: a device that does everything at once, in the host's memory, by the CPU's kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/device.h"
#include "tutti/rng.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* Of a device that works at once streams and events need only be different from NULL. */
typedef struct device {
    char stream, event;
} device;

static uint32_t plain_memory_count(void *self)
{
    (void)self;
    return 1;
}

static tutti_status plain_memory_describe(void *self, uint32_t index,
                                          tutti_device_info *ret_info, tutti_error *err)
{
    (void)self;
    if (index > 0)
        return tutti_fail(err, TUTTI_E_RANGE, "plain_memory: there is no device %u", index);
    ret_info->flags = TUTTI_DEVICE_HOST_MEMORY;
    ret_info->dtypes = 1u << TUTTI_F32 | 1u << TUTTI_I32 | 1u << TUTTI_I64 | 1u << TUTTI_U8;
    ret_info->alignment = ALIGNMENT;
    ret_info->bytes = 0;
    memcpy(ret_info->name, "plain memory", sizeof "plain memory");
    memcpy(ret_info->kernels, "cpu", sizeof "cpu");
    return TUTTI_OK;
}

static tutti_status plain_memory_open_device(void *self, uint32_t index, void **ret_device,
                                             tutti_error *err)
{
    (void)self;
    (void)index;
    device *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "plain_memory: no memory");
    *ret_device = d;
    return TUTTI_OK;
}

static void plain_memory_close_device(void *self)
{
    free(self);
}

static tutti_status plain_memory_memory(void *self, uint64_t *ret_free, uint64_t *ret_total,
                                        tutti_error *err)
{
    (void)self;
    (void)err;
    *ret_free = *ret_total = (uint64_t)1 << 40; /* whatever the system gives */
    return TUTTI_OK;
}

static tutti_status plain_memory_alloc(void *self, uint64_t bytes, void **ret_memory,
                                       tutti_error *err)
{
    const size_t size = ((size_t)bytes / ALIGNMENT + 1) * ALIGNMENT;
    void *p = aligned_alloc(ALIGNMENT, size);
    (void)self;
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "plain_memory: no memory for %llu bytes",
                          (unsigned long long)bytes);
    memset(p, 0, size);
    *ret_memory = p;
    return TUTTI_OK;
}

static void plain_memory_release(void *self, void *p)
{
    (void)self;
    free(p);
}

static tutti_status plain_memory_copy(void *self, void *stream, void *to, const void *from,
                                      uint64_t bytes, int32_t how, tutti_error *err)
{
    (void)self;
    (void)stream;
    (void)how;
    (void)err;
    memcpy(to, from, (size_t)bytes);
    return TUTTI_OK;
}

static tutti_status plain_memory_fill(void *self, void *stream, void *p, uint8_t byte,
                                      uint64_t bytes, tutti_error *err)
{
    (void)self;
    (void)stream;
    (void)err;
    memset(p, byte, (size_t)bytes);
    return TUTTI_OK;
}

static tutti_status plain_memory_draw_uniform(void *self, void *stream, float *p, uint64_t n,
                                              const tutti_device_draw *draw, tutti_error *err)
{
    (void)self;
    (void)stream;
    (void)err;
    for (uint64_t k = 0; k < n; k++) {
        const tutti_rng4 r =
            tutti_rng(draw->seed, draw->purpose, draw->step, draw->index + k / 4);
        p[k] = tutti_uniform_f32(r.v[k % 4]);
    }
    return TUTTI_OK;
}

static tutti_status plain_memory_stream_create(void *self, void **ret_stream, tutti_error *err)
{
    (void)err;
    *ret_stream = &((device *)self)->stream;
    return TUTTI_OK;
}

static tutti_status plain_memory_event_create(void *self, void **ret_event, tutti_error *err)
{
    (void)err;
    *ret_event = &((device *)self)->event;
    return TUTTI_OK;
}

static void plain_memory_nothing(void *self, void *what)
{
    (void)self;
    (void)what;
}

/* For records and waits alike: all work is done already. */
static tutti_status plain_memory_at_once(void *self, void *a, void *b, tutti_error *err)
{
    (void)self;
    (void)a;
    (void)b;
    (void)err;
    return TUTTI_OK;
}

static int32_t plain_memory_event_done(void *self, void *event)
{
    (void)self;
    (void)event;
    return 1;
}

static tutti_status plain_memory_synchronise(void *self, void *stream, tutti_error *err)
{
    (void)self;
    (void)stream;
    (void)err;
    return TUTTI_OK;
}

static tutti_status plain_memory_launch(void *self, void *stream, const tutti_launch *l,
                                        tutti_error *err)
{
    (void)self;
    (void)stream;
    const tutti_status s = l->run(l->state, l->call, l->in, l->out, l->scratch);
    return s ? tutti_fail(err, s, "%s: its kernel failed", l->name) : TUTTI_OK;
}

static tutti_status plain_memory_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    (void)host;
    (void)params;
    (void)err;
    *ret_self = NULL; /* it remembers nothing */
    return TUTTI_OK;
}

static tutti_status plain_memory_close(void *self, tutti_error *err)
{
    (void)self;
    (void)err;
    return TUTTI_OK;
}

static const void *plain_memory_query(void *self, const char *interface_id)
{
    static const tutti_device_v1 table = {.struct_size = sizeof table,
                                          .count = plain_memory_count,
                                          .describe = plain_memory_describe,
                                          .open = plain_memory_open_device,
                                          .close = plain_memory_close_device,
                                          .memory = plain_memory_memory,
                                          .alloc = plain_memory_alloc,
                                          .release = plain_memory_release,
                                          .copy = plain_memory_copy,
                                          .fill = plain_memory_fill,
                                          .random = plain_memory_draw_uniform,
                                          .stream_create = plain_memory_stream_create,
                                          .stream_destroy = plain_memory_nothing,
                                          .event_create = plain_memory_event_create,
                                          .event_destroy = plain_memory_nothing,
                                          .event_record = plain_memory_at_once,
                                          .event_wait = plain_memory_at_once,
                                          .event_done = plain_memory_event_done,
                                          .synchronise = plain_memory_synchronise,
                                          .launch = plain_memory_launch};
    (void)self;
    return strcmp(interface_id, TUTTI_DEVICE_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = plain_memory_open,
                                  .close = plain_memory_close,
                                  .query = plain_memory_query};
static const tutti_object object = TUTTI_OBJECT_INIT("plain_memory", TUTTI_KIND_DEVICE, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.plain_memory", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
