/* cpu.c - the host's own device: its CPU, at once and in place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/counts.h"
#include "graph/runtime/host_memory.h"
#include "tutti/rng.h"
#include "tutti_host/device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing is ever under way, so streams and events are marks without content. */
static char cpu, cpu_stream, cpu_event;

static uint64_t total_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static uint32_t cpu_count(void *self)
{
    return 1;
}

static tutti_status check_index(uint32_t index, tutti_error *err)
{
    return index == 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "cpu: there is no device %u, want 0", index);
}

static tutti_status cpu_describe(void *self, uint32_t index, tutti_device_info *ret_info,
                                 tutti_error *err)
{
    const tutti_device_info info = {.struct_size = ret_info->struct_size,
                                    .flags = TUTTI_DEVICE_HOST_MEMORY,
                                    .dtypes = (1u << DTYPE_END) - 2,
                                    .alignment = MEMORY_ALIGN,
                                    .bytes = total_bytes(),
                                    .name = "CPU",
                                    .kernels = "cpu"};
    const tutti_status s = check_index(index, err);
    if (!s)
        memcpy(ret_info, &info,
               ret_info->struct_size < sizeof info ? ret_info->struct_size : sizeof info);
    return s;
}

static tutti_status cpu_open(void *self, uint32_t index, void **ret_device, tutti_error *err)
{
    const tutti_status s = check_index(index, err);
    if (!s)
        *ret_device = &cpu;
    return s;
}

static void cpu_close(void *device)
{
}

static tutti_status cpu_memory(void *device, uint64_t *ret_free, uint64_t *ret_total,
                               tutti_error *err)
{
    const uint64_t total = total_bytes(), available = host_memory_available();
    *ret_free = available < total ? available : total;
    *ret_total = total;
    return TUTTI_OK;
}

static tutti_status cpu_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err)
{
    char want[32], have[32];
    void *memory = host_memory_alloc(bytes);
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "cpu: %s are wanted, %s are free",
                          bytes_text(bytes, want, sizeof want),
                          bytes_text(host_memory_available(), have, sizeof have));
    *ret_memory = memory;
    return TUTTI_OK;
}

static void cpu_release(void *device, void *memory)
{
    free(memory);
}

static tutti_status cpu_copy(void *device, void *stream, void *to, const void *from,
                             uint64_t bytes, int32_t how, tutti_error *err)
{
    if (bytes && to != from)
        memcpy(to, from, bytes);
    return TUTTI_OK;
}

static tutti_status cpu_fill(void *device, void *stream, void *memory, uint8_t byte,
                             uint64_t bytes, tutti_error *err)
{
    memset(memory, byte, bytes);
    return TUTTI_OK;
}

static tutti_status cpu_random(void *device, void *stream, float *memory, uint64_t n,
                               const tutti_device_draw *draw, tutti_error *err)
{
    tutti_rng4 block = {{0, 0, 0, 0}};
    for (uint64_t k = 0; k < n; k++) {
        if (k % 4 == 0)
            block = tutti_rng(draw->seed, draw->purpose, draw->step, draw->index + k / 4);
        memory[k] = tutti_uniform_f32(block.v[k % 4]);
    }
    return TUTTI_OK;
}

static tutti_status cpu_stream_create(void *device, void **ret_stream, tutti_error *err)
{
    *ret_stream = &cpu_stream;
    return TUTTI_OK;
}

static tutti_status cpu_event_create(void *device, void **ret_event, tutti_error *err)
{
    *ret_event = &cpu_event;
    return TUTTI_OK;
}

static void forget(void *device, void *mark)
{
}

static tutti_status nothing_to_do(void *device, void *a, void *b, tutti_error *err)
{
    return TUTTI_OK;
}

static int32_t cpu_event_done(void *device, void *event)
{
    return 1;
}

static tutti_status cpu_synchronise(void *device, void *stream, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status cpu_launch(void *device, void *stream, const tutti_launch *l,
                               tutti_error *err)
{
    const tutti_status s = l->run(l->state, l->call, l->in, l->out, l->scratch);
    return s ? tutti_fail(err, s, "cpu: kernel %s failed (%s)", l->name, tutti_status_name(s))
             : TUTTI_OK;
}

const tutti_device_v1 *tutti_device_cpu(void)
{
    static const tutti_device_v1 table = {.struct_size = sizeof table,
                                          .count = cpu_count,
                                          .describe = cpu_describe,
                                          .open = cpu_open,
                                          .close = cpu_close,
                                          .memory = cpu_memory,
                                          .alloc = cpu_alloc,
                                          .release = cpu_release,
                                          .copy = cpu_copy,
                                          .fill = cpu_fill,
                                          .random = cpu_random,
                                          .stream_create = cpu_stream_create,
                                          .stream_destroy = forget,
                                          .event_create = cpu_event_create,
                                          .event_destroy = forget,
                                          .event_record = nothing_to_do,
                                          .event_wait = nothing_to_do,
                                          .event_done = cpu_event_done,
                                          .synchronise = cpu_synchronise,
                                          .launch = cpu_launch};
    return &table;
}
